import { Buffer } from 'node:buffer';
import {
  firstStringMember,
  getMember,
  isTrue,
  itemsOf,
  type JsonNode,
  kindOf,
  rawText,
  stringOf,
} from '../../json/json-node.ts';
import { nodeAtPath } from '../../json/json-path.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { HttpError } from '../http-error.ts';
import { type ChosenTool, chooseTool } from './choose-tool.ts';

/** The fields of a chat body that the built-in model simulates. */
export interface ModelRequest {
  /** All messages as one text. */
  readonly prompt: string;
  readonly lastMessageText: string;
  readonly isLastFromAssistant: boolean;
  readonly seed: string;
  readonly choiceCount: number;
  readonly isContinuation: boolean;
  readonly isEchoRequested: boolean;
  readonly hasReasoning: boolean;
  readonly maxTokens: number | undefined;
  readonly minTokens: number;
  readonly stopStrings: readonly string[];
  readonly stopTokenIds: readonly number[];
  readonly isStopKept: boolean;
  /** The tool to call instead of a text. */
  readonly tool: ChosenTool | undefined;
  /** The complete text, if the body determines it. */
  readonly fixedText: string | undefined;
  readonly logprobs: { readonly top: number } | undefined;
  readonly promptLogprobs: number | undefined;
  readonly hasTokenIds: boolean;
  readonly hasIdsAsTokens: boolean;
  readonly stream: { readonly hasUsage: boolean; readonly hasUsageInChunks: boolean } | undefined;
  readonly requestId: string | undefined;
}

/** Reads a valid chat body. Throws HttpError 400 for values that the built-in model does not support. */
export async function readModelRequest(body: JsonNode): Promise<ModelRequest> {
  const messages = Array.from(itemsOf(getMember(body, 'messages') ?? body));
  const last = messages.at(-1);
  const lastMessageText = last ? messageText(last) : '';
  const lastRole = firstStringMember(last, 'role') ?? '';
  const limits = ['max_tokens', 'max_completion_tokens'].flatMap((name) => numberAtLeast(1, body, name) ?? []);
  return {
    prompt: messages
      .map((message) => `${firstStringMember(message, 'role') ?? ''}: ${messageText(message)}\n`)
      .join(''),
    lastMessageText,
    isLastFromAssistant: lastRole === 'assistant',
    seed: rawNumber(body, 'seed') ?? '0',
    choiceCount: numberField(body, 'n') ?? 1,
    isContinuation: isTrue(getMember(body, 'continue_final_message')),
    isEchoRequested: isTrue(getMember(body, 'echo')),
    hasReasoning: !isFalseValue(getMember(body, 'include_reasoning')),
    maxTokens: limits.length > 0 ? Math.min(...limits) : undefined,
    minTokens: numberAtLeast(0, body, 'min_tokens') ?? 0,
    stopStrings: readStopStrings(body),
    stopTokenIds: arrayAt(body, 'stop_token_ids').map((id) => Number(rawText(id))),
    isStopKept: isTrue(getMember(body, 'include_stop_str_in_output')),
    tool: await chooseTool(body, { role: lastRole, text: lastMessageText }),
    fixedText: await readFixedText(body),
    logprobs: isTrue(getMember(body, 'logprobs')) ? { top: numberAtLeast(0, body, 'top_logprobs') ?? 0 } : undefined,
    promptLogprobs: numberAtLeast(0, body, 'prompt_logprobs'),
    hasTokenIds: isTrue(getMember(body, 'return_token_ids')),
    hasIdsAsTokens: isTrue(getMember(body, 'return_tokens_as_token_ids')),
    stream: readStreamOptions(body),
    requestId: firstStringMember(body, 'request_id'),
  };
}

function readStopStrings(body: JsonNode): string[] {
  const stop = getMember(body, 'stop');
  const stops = stop && kindOf(stop) === 'string' ? [stop] : arrayAt(body, 'stop');
  return stops.flatMap((one) => (kindOf(one) === 'string' && stringOf(one) !== '' ? [stringOf(one)] : []));
}

function readStreamOptions(body: JsonNode): ModelRequest['stream'] {
  if (!isTrue(getMember(body, 'stream'))) return undefined;
  const options = getMember(body, 'stream_options');
  return {
    hasUsage: isTrue(getMember(options, 'include_usage')),
    hasUsageInChunks: isTrue(getMember(options, 'continuous_usage_stats')),
  };
}

async function readFixedText(body: JsonNode): Promise<string | undefined> {
  const [choice] = arrayAt(body, 'structured_outputs', 'choice');
  if (choice && kindOf(choice) === 'string') return stringOf(choice);
  const given = [
    ['response_format', 'json_schema', 'schema'],
    ['structured_outputs', 'json'],
  ]
    .map((path) => nodeAtPath(body, path))
    .find((node) => node && kindOf(node) !== 'null');
  if (given) {
    const text = kindOf(given) === 'string' ? stringOf(given) : rawText(given);
    if (!tryParseJson(Buffer.from(text))) throw new HttpError(400, 'structured_outputs.json is not JSON');
    const { smallestValue } = await import('./smallest-value.ts');
    return smallestValue(text);
  }
  const isObject =
    firstStringMember(getMember(body, 'response_format'), 'type') === 'json_object' ||
    isTrue(nodeAtPath(body, ['structured_outputs', 'json_object']));
  return isObject ? '{}' : undefined;
}

/** The text of a message: its string, or that of its text parts. */
function messageText(message: JsonNode): string {
  const content = getMember(message, 'content');
  if (!content) return '';
  if (kindOf(content) === 'string') return stringOf(content);
  return Array.from(itemsOf(content), (part) => firstStringMember(part, 'text') ?? '').join('');
}

function arrayAt(body: JsonNode, ...path: string[]): JsonNode[] {
  const list = nodeAtPath(body, path);
  return list ? Array.from(itemsOf(list)) : [];
}

function numberField(body: JsonNode, name: string): number | undefined {
  const text = rawNumber(body, name);
  return text === undefined ? undefined : Number(text);
}

function numberAtLeast(minimum: number, body: JsonNode, name: string): number | undefined {
  const number = numberField(body, name);
  if (number !== undefined && number < minimum) throw new HttpError(400, `${name} must be at least ${minimum} here`);
  return number;
}

function rawNumber(body: JsonNode, name: string): string | undefined {
  const value = getMember(body, name);
  return value && kindOf(value) === 'number' ? rawText(value) : undefined;
}

function isFalseValue(node: JsonNode | undefined): boolean {
  return node !== undefined && kindOf(node) === 'boolean' && !isTrue(node);
}
