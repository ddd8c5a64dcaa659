// Runs an example of an SDK with tools or structured outputs against a service: node tools.js <example> <base URL> <token>
// Prints one JSON line: the arguments that the tool was called with, and the final text or object.
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
  ...toolChoices('openai', async (tool_choice) => {
    const { choices } = await (await openAi()).chat.completions.create({
      model,
      messages: [{ role: 'user', content: question }],
      tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
      ...(tool_choice && { tool_choice }),
    });
    for (const call of choices[0].message.tool_calls ?? []) weather(JSON.parse(call.function.arguments));
    return choices[0].finish_reason;
  }),
  ...toolChoices('ai', async (choice) => {
    const { generateText, stepCountIs } = await import('ai');
    const toolChoice = typeof choice === 'object' ? { type: 'tool', toolName: 'get_weather' } : choice;
    return (await generateText({ ...(await aiOptions(stepCountIs(1))), toolChoice })).finishReason;
  }),
  ...toolChoices('langchain', async (choice) => {
    const chat = await langChain();
    const tool = { type: 'function', function: { name: 'get_weather', parameters } };
    const bound = chat.bindTools([tool], choice ? { tool_choice: choice } : {});
    const { tool_calls, response_metadata } = await bound.invoke(question);
    for (const { args } of tool_calls) weather(args);
    return response_metadata.finish_reason;
  }),
  ...toolChoices('agents', async (choice) => {
    const { Agent, run, tool, z } = await agents();
    const getWeather = tool({
      name: 'get_weather',
      description: 'The weather of a city',
      parameters: z.object({ city: z.string() }),
      execute: async (input) => weather(input),
    });
    const toolChoice = typeof choice === 'object' ? 'get_weather' : choice;
    const agent = new Agent({ name: 'a', model, tools: [getWeather], modelSettings: { toolChoice } });
    return (await run(agent, question)).finalOutput;
  }),
  async 'agents-handoff'() {
    const { Agent, run } = await agents();
    const parcels = new Agent({ name: 'parcels', model, handoffDescription: 'Knows all parcels' });
    const front = new Agent({ name: 'front', model, handoffs: [parcels] });
    const { finalOutput, lastAgent } = await run(front, 'Please transfer_to_parcels');
    return `${lastAgent.name}: ${finalOutput}`;
  },
  async 'openai-object'() {
    const { zodResponseFormat } = await import('openai/helpers/zod');
    const { z, answer } = await answerSchema();
    const completion = await (await openAi()).chat.completions.parse({
      model,
      messages: [{ role: 'user', content: question }],
      response_format: zodResponseFormat(z.object({ answers: z.array(answer).min(1) }), 'answer'),
    });
    return completion.choices[0].message.parsed.answers[0];
  },
  async 'openai-strict-tool'() {
    const { zodFunction } = await import('openai/helpers/zod');
    const { answer } = await answerSchema();
    const completion = await (await openAi()).chat.completions.parse({
      model,
      messages: [{ role: 'user', content: 'Use set_answer.' }],
      tools: [zodFunction({ name: 'set_answer', parameters: answer })],
    });
    return completion.choices[0].message.tool_calls[0].function.parsed_arguments;
  },
  ...objects('ai-object', ['structured', 'json'], async (mode) => {
    const { generateObject } = await import('ai');
    const { answer } = await answerSchema();
    const chat = await aiModel(mode === 'structured');
    const prompt = `${question}. JSON schema: ${JSON.stringify(answer.toJSONSchema())}`;
    const messages = mode === 'json' ? [{ role: 'system', content: prompt }] : [];
    return (
      await generateObject({
        model: chat,
        schema: answer,
        messages: [...messages, { role: 'user', content: question }],
      })
    ).object;
  }),
  async 'ai-object-stream'() {
    const { streamObject } = await import('ai');
    const { answer } = await answerSchema();
    const { partialObjectStream, object } = streamObject({
      model: await aiModel(true),
      schema: answer,
      prompt: question,
    });
    let parts = 0;
    for await (const _ of partialObjectStream) parts += 1;
    return parts > 0 && object;
  },
  ...objects('langchain-object', ['jsonSchema', 'functionCalling', 'jsonMode'], async (method) => {
    const { answer } = await answerSchema();
    const system = { role: 'system', content: `Follow this schema: ${JSON.stringify(answer.toJSONSchema())}` };
    const chat = (await langChain()).withStructuredOutput(answer, { name: 'answer', method });
    return chat.invoke([...(method === 'jsonMode' ? [system] : []), { role: 'user', content: question }]);
  }),
  async 'agents-object'() {
    const { Agent, run } = await agents();
    const { answer } = await answerSchema();
    return (await run(new Agent({ name: 'a', model, outputType: answer }), question)).finalOutput;
  },
  ...objects('instructor', ['TOOLS', 'JSON', 'JSON_SCHEMA'], async (mode) => {
    const { default: createInstructor } = await import('@instructor-ai/instructor');
    const { z } = await import('zod/v3');
    const schema = z.object({ city: z.string(), days: z.number().int().min(2) });
    const { city, days } = await createInstructor({ client: await openAi(), mode }).chat.completions.create({
      model,
      messages: [{ role: 'user', content: question }],
      response_model: { schema, name: 'Answer' },
      max_retries: 0,
    });
    return { city, days };
  }),
};

// The example with each value of tool_choice.
function toolChoices(sdk, example) {
  const choices = {
    absent: undefined,
    auto: 'auto',
    required: 'required',
    none: 'none',
    named: { type: 'function', function: { name: 'get_weather' } },
  };
  return Object.fromEntries(
    Object.entries(choices).map(([name, choice]) => [`${sdk}-choice-${name}`, () => example(choice)]),
  );
}

function objects(name, modes, example) {
  return Object.fromEntries(modes.map((mode) => [`${name}-${mode}`, () => example(mode)]));
}

async function answerSchema() {
  const { z } = await import('zod');
  return { z, answer: z.object({ city: z.string(), days: z.number().int().min(2) }) };
}

async function openAi() {
  const { default: OpenAI } = await import('openai');
  return new OpenAI({ baseURL, apiKey, maxRetries: 0 });
}

async function langChain() {
  const { ChatOpenAI } = await import('@langchain/openai');
  return new ChatOpenAI({ model, apiKey, configuration: { baseURL }, maxRetries: 0 });
}

async function agents() {
  const sdk = await import('@openai/agents');
  sdk.setTracingDisabled(true);
  sdk.setDefaultOpenAIClient(await openAi());
  sdk.setOpenAIAPI('chat_completions');
  return { ...sdk, ...(await answerSchema()) };
}

async function aiModel(supportsStructuredOutputs) {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({ name: 'svc', baseURL, apiKey, supportsStructuredOutputs })(model);
}

async function aiOptions(stopWhen) {
  const { tool } = await import('ai');
  const { z } = await import('zod');
  const get_weather = tool({ inputSchema: z.object({ city: z.string() }), execute: async (input) => weather(input) });
  return { model: await aiModel(false), tools: { get_weather }, prompt: question, stopWhen };
}

const text = await examples[sdk]();
process.stdout.write(`${JSON.stringify({ calls, text })}\n`);
