import { Buffer } from 'node:buffer';
import {
  firstStringMember,
  getMember,
  isTrue,
  itemsAt,
  itemsOf,
  type JsonNode,
  kindOf,
  nodeAtPath,
  numberMember,
  rawText,
  stringOf,
} from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { fieldError } from '../responses.ts';
import { serviceLimits } from '../service-context.ts';

export type ModelRequest = Awaited<ReturnType<typeof readModelRequest>>;

/** Reads a valid chat body. Throws HttpError 400 for values that the built-in model does not support. */
export async function readModelRequest(body: JsonNode) {
  const messages = itemsAt(body, 'messages').map(readMessage);
  const last = messages.at(-1) ?? { role: '', text: '' };
  const isSet = (name: string): boolean => isTrue(getMember(body, name));
  const [seed, reasoning] = ['seed', 'include_reasoning'].map((name) => getMember(body, name));
  const maxTokens = ['max_tokens', 'max_completion_tokens'].map((name) => numberMember(body, name) ?? Infinity);
  const lastTurn = messages.findLast(({ role }) => role !== 'system' && role !== 'developer') ?? last;
  const tool = await chooseTool(body, lastTurn);
  return {
    prompt: messages.map(({ role, text }) => `${role}: ${text}\n`).join(''),
    last,
    /** As it is written: a number may not hold all its digits. */
    seed: seed && kindOf(seed) === 'number' ? rawText(seed) : '0',
    choiceCount: numberMember(body, 'n') ?? 1,
    isContinuation: isSet('continue_final_message'),
    echoedText: isSet('echo') && last.role === 'assistant' ? last.text : '',
    hasReasoning: !reasoning || rawText(reasoning) !== 'false',
    maxTokens: Math.min(...maxTokens),
    minTokens: numberMember(body, 'min_tokens') ?? 0,
    stopStrings: readStopStrings(body),
    stopTokenIds: itemsAt(body, 'stop_token_ids').map((id) => Number(rawText(id))),
    isStopKept: isSet('include_stop_str_in_output'),
    toolName: tool?.name,
    /** The complete text, or the arguments of the tool, if the body determines them. */
    fixedText: tool?.arguments ?? (await readFixedText(body, messages)),
    /** Alternatives per token; undefined without log probabilities. */
    topLogprobs: isSet('logprobs') ? (logprobCount(body, 'top_logprobs') ?? 0) : undefined,
    promptLogprobs: logprobCount(body, 'prompt_logprobs'),
    hasTokenIds: isSet('return_token_ids'),
    hasIdsAsTokens: isSet('return_tokens_as_token_ids'),
    isStreamed: isSet('stream'),
    hasUsageAtEnd: isTrue(nodeAtPath(body, ['stream_options', 'include_usage'])),
    hasUsageInChunks: isTrue(nodeAtPath(body, ['stream_options', 'continuous_usage_stats'])),
    id: firstStringMember(body, 'request_id'),
  };
}

type ChatMessage = { readonly role: string; readonly text: string };

function readMessage(message: JsonNode): ChatMessage {
  const role = firstStringMember(message, 'role') ?? '';
  const parts = itemsAt(message, 'content').map((part) => firstStringMember(part, 'text') ?? '');
  return { role, text: firstStringMember(message, 'content') ?? parts.join('') };
}

function readStopStrings(body: JsonNode): string[] {
  const stop = getMember(body, 'stop');
  if (!stop) return [];
  const texts = kindOf(stop) === 'string' ? [stop] : Array.from(itemsOf(stop));
  return texts.flatMap((text) => (kindOf(text) === 'string' ? stringOf(text) : [])).filter((text) => text !== '');
}

async function readFixedText(body: JsonNode, messages: readonly ChatMessage[]): Promise<string | undefined> {
  const constraints = getMember(body, 'structured_outputs');
  const [choice] = itemsAt(constraints, 'choice');
  if (choice && kindOf(choice) === 'string') return stringOf(choice);
  const regex = firstStringMember(constraints, 'regex');
  if (regex !== undefined) return (await import('./pattern.ts')).shortMatch(regex);
  const paths = [
    ['response_format', 'json_schema', 'schema'],
    ['structured_outputs', 'json'],
    ['response_format', 'schema'],
  ];
  for (const path of paths) {
    const schema = nodeAtPath(body, path);
    if (!schema || kindOf(schema) === 'null') continue;
    const text = kindOf(schema) === 'string' ? stringOf(schema) : rawText(schema);
    if (!tryParseJson(Buffer.from(text))) throw fieldError(path.join('.'), 'is not JSON');
    return (await import('./smallest-value.ts')).smallestValue(text, path.join('.'));
  }
  const isObject =
    firstStringMember(getMember(body, 'response_format'), 'type') === 'json_object' ||
    isTrue(nodeAtPath(body, ['structured_outputs', 'json_object']));
  if (!isObject) return undefined;
  const instructed = messages.map(instructedSchema).find((text) => text !== undefined);
  return instructed === undefined ? '{}' : (await import('./smallest-value.ts')).smallestValue(instructed, 'messages');
}

// Clients that request any JSON object write its schema into the instructions.
function instructedSchema({ role, text }: ChatMessage): string | undefined {
  if (role !== 'system' && role !== 'developer') return undefined;
  const schema = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  const node = tryParseJson(Buffer.from(schema));
  return node && getMember(node, 'properties') ? schema : undefined;
}

// -1 means all that there are.
function logprobCount(body: JsonNode, name: string): number | undefined {
  const count = numberMember(body, name);
  return count === -1 ? serviceLimits.topLogprobs : count;
}

async function chooseTool(body: JsonNode, last: ChatMessage) {
  const tool = findTool(body, last);
  if (!tool) return undefined;
  const parameters = getMember(tool, 'parameters');
  const isObject = parameters && kindOf(parameters) === 'object';
  const value = isObject ? (await import('./smallest-value.ts')).smallestValue(rawText(parameters), 'tools') : '{}';
  // A schema without a type allows values that are not arguments.
  return { name: toolName(tool), arguments: value.startsWith('{') ? value : '{}' };
}

// The tool that a chat body calls for (docs/internals/servers.md): the named one, any with `required`, and with `auto` one that the
// last message besides instructions names, if it is the user's.
function findTool(body: JsonNode, last: ChatMessage): JsonNode | undefined {
  const choice = getMember(body, 'tool_choice');
  const allTools = itemsAt(body, 'tools').flatMap((tool) => getMember(tool, 'function') ?? []);
  const isNarrowed = firstStringMember(choice, 'type') === 'allowed_tools';
  const allowed = isNarrowed ? (getMember(choice, 'allowed_tools') ?? choice) : undefined;
  const allowedNames = itemsAt(allowed, 'tools').map((tool) => toolName(getMember(tool, 'function') ?? tool));
  const tools = isNarrowed ? allTools.filter((tool) => allowedNames.includes(toolName(tool))) : allTools;
  if (choice && kindOf(choice) === 'object' && !isNarrowed) {
    const name = firstStringMember(getMember(choice, 'function') ?? choice, 'name') ?? '';
    const named = tools.find((tool) => toolName(tool) === name);
    if (named) return named;
    throw fieldError('tool_choice', `names the tool ${JSON.stringify(name)}, which is not in tools`);
  }
  // Existing servers take `auto` as the default when there are tools (docs/internals/servers.md).
  switch (allowed ? firstStringMember(allowed, 'mode') : choice ? firstStringMember(body, 'tool_choice') : 'auto') {
    case 'required':
      if (!tools[0]) throw fieldError('tool_choice', '"required" needs at least one tool in tools');
      return tools[0];
    case 'auto': {
      const words = last.role === 'user' ? wordsOf(last.text) : new Set();
      return tools.find((tool) => words.has(toolName(tool)));
    }
    default:
      return undefined;
  }
}

function toolName(tool: JsonNode): string {
  return firstStringMember(tool, 'name') ?? '';
}

function wordsOf(text: string): ReadonlySet<string> {
  const words = text.split(/[^\w.-]+/).flatMap((word) => [word, word.replace(/(?<![.-])[.-]+$/, '')]);
  return new Set(words.filter((word) => word !== ''));
}
