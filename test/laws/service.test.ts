import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createBodyValidator } from '../../src/fields/schema-validator.ts';
import { collectBody } from '../../src/http/body-chunks.ts';
import type { HttpResponse, Send } from '../../src/http/message.ts';
import { rootOf } from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { type JsonValue, writeJson } from '../../src/json/write-json.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import type { Operation } from '../../src/operations/operation.ts';
import { foldStream } from '../../src/results/fold-stream.ts';
import { fullBody, sampleBodies } from '../support/bodies.ts';
import { localService } from '../support/service.ts';
import { svc } from '../support/svc.ts';

const credentials = { username: 'ada', password: 'pass-word', token: 'tok-en' };
const authorizations = { basic: `Basic ${btoa('ada:pass-word')}`, bearer: 'Bearer tok-en' };
const cases = allOperations.map((operation) => ({ operation, name: operation.command.join(' ') }));

async function post(
  send: Send,
  { path, auth }: Operation,
  body: string,
  authorization = authorizations[auth],
): Promise<{ reply: HttpResponse; text: string }> {
  const reply = await send({
    method: 'POST',
    url: `http://localhost${path}`,
    headers: [
      ['Content-Type', 'application/json'],
      ['Authorization', authorization],
    ],
    body: Buffer.from(body),
  });
  return { reply, text: (await collectBody(reply.body, 1e8)).toString() };
}

/** The response that the events of a stream form. */
async function joined(text: string, { reply }: Operation): Promise<string> {
  const events = text.split('\n\n').slice(0, -1);
  expect(events.pop()).toBe('data: [DONE]');
  const chunks = events.map((event) => rootOf(parseJson(event.replace(/^data: /, ''))));
  return (await foldStream(Readable.from(chunks), reply, {})).doc.bytes.toString();
}

/** The body that was sent with its secret fields redacted, otherwise unchanged. */
function hidden(sent: string, body: JsonValue, operation: Operation): string {
  const secrets = Object.entries(Object(body)).filter(([name]) => operation.body[name]?.isSecret);
  return secrets.reduce((text, [name, value]) => {
    const [before, after] = [value, '[redacted]'].map((one) => `${JSON.stringify(name)}:${JSON.stringify(one)}`);
    expect(text).toContain(before);
    return text.replace(before ?? '', after ?? '');
  }, sent);
}

describe('the local service', () => {
  it.each(cases)('responds to every sample of $name with a valid response', async ({ operation }) => {
    const { send } = await localService({ credentials });
    const validate = createBodyValidator({ body: operation.reply }, false);
    for (const { name, body } of sampleBodies(operation)) {
      const text = writeJson(name === 'priority' ? { ...Object(body), priority: 0 } : body);
      const answer = await post(send, operation, text);
      expect([name, answer.reply.status, answer.reply.status === 200 ? '' : answer.text]).toEqual([name, 200, '']);
      const isStream = text.includes('"stream":true');
      const whole = isStream ? await joined(answer.text, operation) : answer.text;
      expect([name, validate(rootOf(parseJson(whole)))]).toEqual([name, []]);
    }
  });

  it.each(cases)('rejects wrong credentials for $name', async ({ operation }) => {
    const { send } = await localService({ credentials });
    const [{ body } = { body: {} }] = sampleBodies(operation);
    for (const authorization of [
      '',
      'Basic',
      `Basic ${btoa('ada:other')}`,
      'Bearer other',
      authorizations[operation.auth === 'basic' ? 'bearer' : 'basic'],
    ]) {
      const { reply } = await post(send, operation, writeJson(body), authorization);
      expect(reply.status).toBe(401);
      expect(reply.headers.map(([name]) => name)).toContain('WWW-Authenticate');
    }
  });

  it.each(cases)('rejects invalid bodies for $name', async ({ operation }) => {
    const { send } = await localService({ credentials });
    const status = operation.errors === 'error' ? 400 : 422;
    const required = Object.keys(operation.body).find((name) => operation.body[name]?.required) ?? '';
    for (const body of ['', '{', '[]', '{}', `{"${required}":7}`, 'null', '{"a":1}x']) {
      const { reply, text } = await post(send, operation, body);
      expect([body, reply.status]).toEqual([body, status]);
      expect(Object.keys(JSON.parse(text))).toEqual([operation.errors]);
    }
  });
});

describe('what --dry-run prints is what is sent', () => {
  it.each(cases)('for every sample of $name', async ({ operation }) => {
    const { send, recorded } = await localService();
    const clock = { now: () => 1_769_851_800_000, randomBytes: (count: number) => new Uint8Array(count).fill(7) };
    const env = {
      SVC_BASE_URL: 'https://svc.test',
      SVC_USERNAME: 'ada',
      SVC_PASSWORD: 'pass-word',
      SVC_TOKEN: 'tok-en',
      SVC_PROJECT_ID: 'a/b',
      SVC_MODEL: 'm',
    };
    for (const { name, body } of sampleBodies(operation)) {
      const setting = { stdin: writeJson(body), env, send, runtime: clock };
      const shown = await svc([...operation.command, '--dry-run'], setting);
      recorded.length = 0;
      await svc([...operation.command], setting);
      expect([name, shown.code, shown.stdout]).toEqual([name, 0, hidden(recorded[0]?.body ?? '', body, operation)]);
      const lines = (recorded[0]?.headers ?? []).map(
        ([header, value]) => `${header}: ${header === 'Authorization' ? `${value.split(' ')[0]} [redacted]` : value}`,
      );
      expect(shown.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('svc:'))).toEqual([
        `POST https://svc.test${operation.path}`,
        ...lines,
      ]);
    }
  });
});

describe('a body of another operation', () => {
  const pairs = cases.flatMap((given) =>
    cases.filter((wanted) => wanted !== given).map((wanted) => ({ given, wanted, names: [given.name, wanted.name] })),
  );

  it.each(pairs)('is recognized by its fields: $names', async ({ given, wanted }) => {
    for (const stdin of [sampleBodies(given.operation)[0]?.body ?? {}, fullBody(given.operation)].map(writeJson)) {
      const { code, stderr } = await svc([...wanted.operation.command, '--dry-run'], { stdin });
      expect({ code, stderr }).toEqual({
        code: 3,
        stderr: expect.stringContaining(
          `is a body of svc ${given.name}, not of svc ${wanted.name}\n  run: svc ${given.name}\n`,
        ),
      });
    }
  });

  it.each(cases)('is none of its own operation: $name', async ({ operation }) => {
    for (const { body } of sampleBodies(operation)) {
      const { stderr } = await svc([...operation.command, '--dry-run'], { stdin: writeJson(body) });
      expect(stderr).not.toContain('is a body of');
    }
  });
});
