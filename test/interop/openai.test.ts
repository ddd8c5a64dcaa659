import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { serve } from '../support/process.ts';

// The official client shows whether the local service is compatible.
describe('the official client against svc serve', () => {
  async function client(key?: string): Promise<OpenAI> {
    const { url, env } = await serve();
    return new OpenAI({ baseURL: `${url}/v1`, apiKey: key ?? env.SVC_TOKEN, maxRetries: 0 });
  }
  const question = { model: 'any', messages: [{ role: 'user' as const, content: 'Name a river' }] };

  it('gets a plain completion', async () => {
    const openai = await client();
    const reply = await openai.chat.completions.create({ ...question, seed: 7, n: 2, logprobs: true, top_logprobs: 2 });
    expect(reply.object).toBe('chat.completion');
    expect(reply.model).toBe('svc-local');
    expect(reply.choices.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'stop'],
      [1, 'stop'],
    ]);
    const [first, second] = reply.choices;
    expect(first?.message.content).not.toBe(second?.message.content);
    expect(first?.logprobs?.content?.map(({ token }) => token).join('')).toBe(first?.message.content);
    expect(first?.logprobs?.content?.[0]?.top_logprobs).toHaveLength(2);
    expect(reply.usage?.total_tokens).toBe((reply.usage?.prompt_tokens ?? 0) + (reply.usage?.completion_tokens ?? 0));
  });

  it('gets the same text streamed', async () => {
    const openai = await client();
    const plain = await openai.chat.completions.create(question);
    const stream = await openai.chat.completions.create({
      ...question,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let reason: string | null = null;
    let total = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      reason = chunk.choices[0]?.finish_reason ?? reason;
      total = chunk.usage?.total_tokens ?? total;
    }
    expect(text).toBe(plain.choices[0]?.message.content);
    expect({ reason, total }).toEqual({ reason: 'stop', total: plain.usage?.total_tokens });
  });

  it('parses structured output', async () => {
    const openai = await client();
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 } },
      required: ['city', 'days'],
    };
    const reply = await openai.chat.completions.parse({
      ...question,
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    });
    expect(reply.choices[0]?.message.parsed).toEqual({ city: '', days: 2 });
  });

  it('gets errors in the form it expects', async () => {
    const openai = await client();
    const bad = openai.chat.completions.create({ ...question, temperature: -1 });
    await expect(bad).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(bad).rejects.toMatchObject({ status: 400, param: 'temperature', type: 'invalid_request_error' });
    const stranger = await client('wrong');
    await expect(stranger.chat.completions.create(question)).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });
});
