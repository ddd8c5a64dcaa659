import { parseJson } from '../../json/document.ts';
import { isTrue, itemsOf, type JsonNode, kindOf, member, rootOf, stringIn, stringOf, textOf } from '../../json/node.ts';
import { nodeAt } from '../../json/path.ts';
import { Refusal } from '../refusal.ts';
import { smallestValue } from './smallest.ts';

/** What a chat body asks of the built-in model. Of what it does not simulate nothing is read. */
export interface ModelRequest {
  /** Everything before the reply, as one text. */
  readonly prompt: string;
  /** The text of the last message, and whether it is the assistant's. */
  readonly last: string;
  readonly lastIsReply: boolean;
  readonly seed: string;
  readonly choices: number;
  readonly continues: boolean;
  readonly echo: boolean;
  readonly reasons: boolean;
  readonly most: number | undefined;
  readonly least: number;
  readonly stops: readonly string[];
  readonly stopIds: readonly number[];
  readonly keepsStop: boolean;
  /** The reply in full, where the body leaves no choice. */
  readonly fixed: string | undefined;
  readonly logprobs: { readonly top: number } | undefined;
  readonly promptLogprobs: number | undefined;
  readonly returnsIds: boolean;
  readonly tokensAsIds: boolean;
  readonly stream: { readonly usage: boolean; readonly usageInEvery: boolean } | undefined;
  readonly requestId: string | undefined;
}

/** Reads a chat body that has been judged. Throws Refusal 400 for what the built-in model cannot do. */
export function readModelRequest(body: JsonNode): ModelRequest {
  const messages = Array.from(itemsOf(member(body, 'messages') ?? body));
  const last = messages.at(-1);
  const limits = ['max_tokens', 'max_completion_tokens'].flatMap((name) => numberFrom(1, body, name) ?? []);
  return {
    prompt: messages.map((message) => `${stringIn(message, 'role') ?? ''}: ${contentOf(message)}\n`).join(''),
    last: last ? contentOf(last) : '',
    lastIsReply: stringIn(last, 'role') === 'assistant',
    seed: rawAt(body, 'seed') ?? '0',
    choices: numberAt(body, 'n') ?? 1,
    continues: isTrue(member(body, 'continue_final_message')),
    echo: isTrue(member(body, 'echo')),
    reasons: !isFalse(member(body, 'include_reasoning')),
    most: limits.length > 0 ? Math.min(...limits) : undefined,
    least: numberFrom(0, body, 'min_tokens') ?? 0,
    stops: listAt(body, 'stop').flatMap((stop) =>
      kindOf(stop) === 'string' && stringOf(stop) !== '' ? [stringOf(stop)] : [],
    ),
    stopIds: listAt(body, 'stop_token_ids').map((id) => Number(textOf(id))),
    keepsStop: isTrue(member(body, 'include_stop_str_in_output')),
    fixed: fixedReply(body),
    logprobs: isTrue(member(body, 'logprobs')) ? { top: numberFrom(0, body, 'top_logprobs') ?? 0 } : undefined,
    promptLogprobs: numberFrom(0, body, 'prompt_logprobs'),
    returnsIds: isTrue(member(body, 'return_token_ids')),
    tokensAsIds: isTrue(member(body, 'return_tokens_as_token_ids')),
    stream: streamOf(body),
    requestId: stringIn(body, 'request_id'),
  };
}

function streamOf(body: JsonNode): ModelRequest['stream'] {
  if (!isTrue(member(body, 'stream'))) return undefined;
  const options = member(body, 'stream_options');
  return {
    usage: isTrue(member(options, 'include_usage')),
    usageInEvery: isTrue(member(options, 'continuous_usage_stats')),
  };
}

function fixedReply(body: JsonNode): string | undefined {
  const [choice] = listAt(body, 'structured_outputs', 'choice');
  if (choice && kindOf(choice) === 'string') return stringOf(choice);
  const schema = nodeAt(body, ['response_format', 'json_schema', 'schema']);
  if (schema) return smallestValue(schema, schema);
  const text = nodeAt(body, ['structured_outputs', 'json']);
  const parsed = text && kindOf(text) === 'string' ? rootOf(parseJson(stringOf(text))) : undefined;
  if (parsed) return smallestValue(parsed);
  const isObject =
    stringIn(member(body, 'response_format'), 'type') === 'json_object' ||
    isTrue(nodeAt(body, ['structured_outputs', 'json_object']));
  return isObject ? '{}' : undefined;
}

/** The text of a message: its string, or that of its text parts. */
function contentOf(message: JsonNode): string {
  const content = member(message, 'content');
  if (!content) return '';
  if (kindOf(content) === 'string') return stringOf(content);
  return Array.from(itemsOf(content), (part) => stringIn(part, 'text') ?? '').join('');
}

function listAt(body: JsonNode, ...path: string[]): JsonNode[] {
  const list = nodeAt(body, path);
  return list ? Array.from(itemsOf(list)) : [];
}

function numberAt(body: JsonNode, name: string): number | undefined {
  const text = rawAt(body, name);
  return text === undefined ? undefined : Number(text);
}

function numberFrom(least: number, body: JsonNode, name: string): number | undefined {
  const number = numberAt(body, name);
  if (number !== undefined && number < least) throw new Refusal(400, `${name} must be at least ${least} here`);
  return number;
}

function rawAt(body: JsonNode, name: string): string | undefined {
  const value = member(body, name);
  return value && kindOf(value) === 'number' ? textOf(value) : undefined;
}

function isFalse(node: JsonNode | undefined): boolean {
  return node !== undefined && kindOf(node) === 'boolean' && !isTrue(node);
}
