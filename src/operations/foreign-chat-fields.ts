import { firstStringMember, getMember, itemsOf, type JsonNode, kindOf } from '../json/json-node.ts';

const MESSAGES = 'write messages';
const SYSTEM = 'write a message with the role system; for a prompt, svc chat -s <text>';
const TOP_LEVEL = 'write its fields at the top level of the body';
const SCHEMA = 'write response_format';

/** The fields of chat bodies of other APIs, and what a body of this service has instead, as messages say it. */
export const foreignChatFields: { readonly [name: string]: string } = {
  // Anthropic
  system: SYSTEM,
  stop_sequences: 'write stop',
  thinking: 'write reasoning_effort',
  output_format: SCHEMA,
  // OpenAI: Responses, and what chats had before
  input: MESSAGES,
  instructions: SYSTEM,
  max_output_tokens: 'write max_completion_tokens',
  reasoning: 'write reasoning_effort',
  text: SCHEMA,
  previous_response_id: 'write the earlier messages into messages, as svc chat --conversation <file> does',
  functions: 'write tools',
  function_call: 'write tool_choice',
  best_of: 'write n',
  engine: 'write model',
  // Gemini
  contents: MESSAGES,
  systemInstruction: SYSTEM,
  system_instruction: SYSTEM,
  generationConfig: TOP_LEVEL,
  generation_config: TOP_LEVEL,
  toolConfig: 'write tools and tool_choice',
  tool_config: 'write tool_choice',
  // Ollama
  prompt: MESSAGES,
  options: TOP_LEVEL,
  format: SCHEMA,
  images: 'write content parts of the type image_url; for a prompt, svc chat --attach <file>',
  think: 'write reasoning_effort',
  template: 'write chat_template',
  num_predict: 'write max_completion_tokens',
  repeat_penalty: 'write repetition_penalty',
  // Bedrock
  inferenceConfig: TOP_LEVEL,
  additionalModelRequestFields: TOP_LEVEL,
  inputText: MESSAGES,
  textGenerationConfig: TOP_LEVEL,
  stopSequences: 'write stop',
  // Cohere, Mistral and Hugging Face
  message: MESSAGES,
  chat_history: MESSAGES,
  preamble: SYSTEM,
  inputs: MESSAGES,
  parameters: TOP_LEVEL,
  max_new_tokens: 'write max_completion_tokens',
  random_seed: 'write seed',
  // vLLM before structured_outputs
  guided_json: 'write structured_outputs.json',
  guided_regex: 'write structured_outputs.regex',
  guided_choice: 'write structured_outputs.choice',
  guided_grammar: 'write structured_outputs.grammar',
};

/** The fields of other APIs that hold the messages or the prompt. */
export const foreignPromptFields: readonly string[] = Object.keys(foreignChatFields).filter(
  (name) => foreignChatFields[name] === MESSAGES,
);

/** The parts of a content in other APIs, by their type, and what a content of this service has instead. */
export const foreignContentParts: { readonly [type: string]: string } = {
  image: 'write {"type":"image_url","image_url":{"url":"data:<media type>;base64,<data>"}}',
  document: 'write its text as a part of the type text',
  tool_use: 'write tool_calls beside content',
  tool_result: 'write a message with the role tool and a tool_call_id',
};

const systemFields = Object.keys(foreignChatFields).filter((name) => foreignChatFields[name] === SYSTEM);

/** The jq filter that makes `messages` of the prompt in the field `key` of a body of another API; undefined for one of another form. */
export function messagesFilter(body: JsonNode, key: string): string | undefined {
  const prompt = foreignPromptFields.includes(key) ? getMember(body, key) : undefined;
  if (!prompt) return undefined;
  const items = kindOf(prompt) === 'list' ? Array.from(itemsOf(prompt)) : [];
  const all = (name: string): boolean => items.length > 0 && items.every((item) => getMember(item, name) !== undefined);
  const messages =
    kindOf(prompt) === 'string'
      ? `[{role: "user", content: .${key}}]`
      : all('parts')
        ? `[.${key}[] | {role: (if .role == "model" then "assistant" else .role // "user" end), content: ([.parts[].text // ""] | add)}]`
        : all('role') && all('content')
          ? `.${key}`
          : undefined;
  const system = systemFields.find((name) => firstStringMember(body, name) !== undefined);
  const first = system ? `[{role: "system", content: .${system}}] + ` : '';
  return messages && `.messages = ${first}${messages} | del(.${key}${system ? `, .${system}` : ''})`;
}
