import { firstStringMember, getMember, itemsAt, type JsonNode, kindOf } from '../json/json-node.ts';

const MESSAGES = 'write messages';
const SYSTEM = 'write a message with the role system; for a prompt, svc chat -s <text>';

// Of Anthropic, OpenAI (Responses, and chats before tools), Gemini, Ollama, Bedrock, Cohere, Mistral, Hugging Face, and vLLM before
// structured_outputs.
const namesByMeaning: { readonly [meaning: string]: string } = {
  [MESSAGES]: 'input contents prompt inputText message chat_history inputs',
  [SYSTEM]: 'system instructions systemInstruction system_instruction preamble',
  'write its fields at the top level of the body':
    'generationConfig generation_config options inferenceConfig additionalModelRequestFields textGenerationConfig parameters extra_body',
  'use -H for each of its headers': 'extra_headers',
  'write response_format': 'output_format text format',
  'write reasoning_effort': 'thinking reasoning think',
  'write max_completion_tokens': 'max_output_tokens num_predict max_new_tokens',
  'write stop': 'stop_sequences stopSequences',
  'write tools': 'functions',
  'write tool_choice': 'function_call tool_config',
  'write tools and tool_choice': 'toolConfig',
  'write n': 'best_of',
  'write model': 'engine',
  'write seed': 'random_seed',
  'write chat_template': 'template',
  'write repetition_penalty': 'repeat_penalty',
  'write the earlier messages into messages, as svc chat --conversation <file> does': 'previous_response_id',
  'write content parts of the type image_url; for a prompt, svc chat --attach <file>': 'images',
  'write structured_outputs.json': 'guided_json',
  'write structured_outputs.regex': 'guided_regex',
  'write structured_outputs.choice': 'guided_choice',
  'write structured_outputs.grammar': 'guided_grammar',
};

const namesOf = (meaning: string): string[] => namesByMeaning[meaning]?.split(' ') ?? [];

/** The fields of chat bodies of other APIs, and what a body of this service has instead, as messages say it. */
export const foreignChatFields: { readonly [name: string]: string } = Object.fromEntries(
  Object.keys(namesByMeaning).flatMap((meaning) => namesOf(meaning).map((name) => [name, meaning])),
);

/** The fields of other APIs that hold the messages or the prompt. */
export const foreignPromptFields: readonly string[] = namesOf(MESSAGES);

const PROMPT_COLUMN = /^(?:user_?)?(?:prompt|question|query|instruction|input|text|message|content)s?$/i;

// A prompt of these would send an identifier to the model.
const KEY_COLUMN = /^(?:[kK]ey|role|type|object|index|(?:.*_)?u?u?id)$|I[dD]$/;

/** The column of a table that holds the prompt; `column`, which svc refuses, if several could. */
export function promptColumn(names: readonly string[]): string {
  const texts = names.filter((name) => !KEY_COLUMN.test(name));
  return names.find((name) => PROMPT_COLUMN.test(name)) ?? (texts.length === 1 ? texts[0] : undefined) ?? 'column';
}

const TEXT_PART = 'write {"type":"text","text":"<text>"}';

/** The parts of a content in other APIs, by their type, and what a content of this service has instead. */
export const foreignContentParts: { readonly [type: string]: string } = {
  'text without type': TEXT_PART,
  input_text: TEXT_PART,
  output_text: TEXT_PART,
  input_image: 'write {"type":"image_url","image_url":{"url":"<URL>"}}',
  image: 'write {"type":"image_url","image_url":{"url":"data:<media type>;base64,<data>"}}',
  document: 'write its text as a part of the type text',
  tool_use: 'write tool_calls beside content',
  tool_result: 'write a message with the role tool and a tool_call_id',
};

/** The jq filter that makes `messages` of the prompt in the field `key` of a body of another API; undefined for one of another form. */
export function messagesFilter(body: JsonNode, key: string): string | undefined {
  const prompt = foreignPromptFields.includes(key) ? getMember(body, key) : undefined;
  if (!prompt) return undefined;
  const items = itemsAt(body, key);
  const all = (name: string): boolean => items.length > 0 && items.every((item) => getMember(item, name) !== undefined);
  const messages =
    kindOf(prompt) === 'string'
      ? `[{role: "user", content: .${key}}]`
      : all('parts')
        ? `[.${key}[] | {role: (if .role == "model" then "assistant" else .role // "user" end), content: ([.parts[].text // ""] | add)}]`
        : all('role') && all('content')
          ? `.${key}`
          : undefined;
  const isText = (name: string): boolean => firstStringMember(body, name) !== undefined;
  const system = namesOf(SYSTEM).find((name) => isText(name) || itemsAt(getMember(body, name), 'parts').length > 0);
  const content = system && isText(system) ? `.${system}` : `([.${system}.parts[].text] | add)`;
  const before = system ? [`[{role: "system", content: ${content}}]`] : [];
  // Cohere has the last message beside the earlier ones.
  const history = key === 'message' && itemsAt(body, 'chat_history').length > 0 ? 'chat_history' : undefined;
  if (history)
    before.push(
      `[.${history}[] | {role: (if .role == "CHATBOT" then "assistant" else .role | ascii_downcase end), content: .message}]`,
    );
  const read = [key, system, history].flatMap((name) => (name ? [`.${name}`] : []));
  return messages && `.messages = ${[...before, messages].join(' + ')} | del(${read.join(', ')})`;
}
