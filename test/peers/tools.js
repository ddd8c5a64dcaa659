// Runs the tool-using example of an SDK against a service: node tools.js <sdk> <base URL> <token>
// Prints one JSON line: the arguments that the tool was called with, and the final text.
const [sdk = '', baseUrl = '', apiKey = ''] = process.argv.slice(2);
const baseURL = `${baseUrl}/v1`;
const model = 'svc-local';
const question = 'Use get_weather for the city of the parcel';
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const calls = [];

function weather(input) {
  calls.push(input);
  return '21 degrees';
}

const examples = {
  async openai() {
    const { default: OpenAI } = await import('openai');
    const client = new OpenAI({ baseURL, apiKey });
    const runner = client.chat.completions.runTools({
      model,
      messages: [{ role: 'user', content: question }],
      tools: [
        { type: 'function', function: { name: 'get_weather', parse: JSON.parse, function: weather, parameters } },
      ],
    });
    return runner.finalContent();
  },
  async 'openai-stream'() {
    const { default: OpenAI } = await import('openai');
    const client = new OpenAI({ baseURL, apiKey });
    const runner = client.chat.completions.runTools({
      model,
      stream: true,
      messages: [{ role: 'user', content: question }],
      tools: [
        { type: 'function', function: { name: 'get_weather', parse: JSON.parse, function: weather, parameters } },
      ],
    });
    return runner.finalContent();
  },
  async 'openai-models'() {
    const { default: OpenAI } = await import('openai');
    const { data } = await new OpenAI({ baseURL, apiKey }).models.list();
    calls.push({ city: '' });
    return data.map(({ id }) => id).join();
  },
  async ai() {
    const { generateText, stepCountIs } = await import('ai');
    return (await generateText(await aiOptions(stepCountIs(3)))).text;
  },
  async 'ai-stream'() {
    const { streamText, stepCountIs } = await import('ai');
    return streamText(await aiOptions(stepCountIs(3))).text;
  },
  async langchain() {
    const { ChatOpenAI } = await import('@langchain/openai');
    const { HumanMessage, ToolMessage } = await import('@langchain/core/messages');
    const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL }, stop: ['END'] });
    const tool = { type: 'function', function: { name: 'get_weather', parameters } };
    const bound = chat.bindTools([tool], { tool_choice: 'auto' });
    const messages = [new HumanMessage(question)];
    const first = await bound.invoke(messages);
    for (const { id, args } of first.tool_calls)
      messages.push(first, new ToolMessage({ tool_call_id: id, content: weather(args) }));
    return (await bound.invoke(messages)).content;
  },
  async agents() {
    const { default: OpenAI } = await import('openai');
    const { Agent, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled, tool } = await import(
      '@openai/agents'
    );
    const { z } = await import('zod');
    setTracingDisabled(true);
    setDefaultOpenAIClient(new OpenAI({ baseURL, apiKey }));
    setOpenAIAPI('chat_completions');
    const getWeather = tool({
      name: 'get_weather',
      description: 'The weather of a city',
      parameters: z.object({ city: z.string() }),
      execute: async (input) => weather(input),
    });
    const agent = new Agent({ name: 'a', model, tools: [getWeather], modelSettings: { toolChoice: 'required' } });
    return (await run(agent, question)).finalOutput;
  },
};

async function aiOptions(stopWhen) {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const { tool } = await import('ai');
  const { z } = await import('zod');
  const provider = createOpenAICompatible({ name: 'svc', baseURL, apiKey });
  const get_weather = tool({ inputSchema: z.object({ city: z.string() }), execute: async (input) => weather(input) });
  return { model: provider(model), tools: { get_weather }, prompt: question, stopWhen };
}

const text = await examples[sdk]();
process.stdout.write(`${JSON.stringify({ calls, text })}\n`);
