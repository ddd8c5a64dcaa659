import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { JsonError } from '../../json/json-error.ts';
import {
  endOffset,
  getMember,
  itemsAt,
  itemsOf,
  type JsonNode,
  type JsonPath,
  kindOf,
  memberEntry,
  nameSignature,
  rawBytes,
  rawText,
  startOffset,
  stringOf,
} from '../../json/json-node.ts';
import { compareNumberLiterals } from '../../json/number-literal.ts';
import { compactChunks, tokenEnd } from '../../json/write-json.ts';
import type { TrajectoryChecks } from '../../train/stream/checks.ts';
import type { TrajectoryPart } from '../../train/stream/reader.ts';
import { InvalidTextError } from '../../train/stream/text-position.ts';
import type { LintKind } from './lint-kinds.ts';

/** Reports a finding in a trajectory, with the offset in its text and the path inside it. */
type FindingCallback = (kind: LintKind, offset: number, path: JsonPath, message: string) => void;

/** Reports the findings of a trajectory. Returns its reward as written, if it is a number, and how many tokens have logprobs. */
export function lintTrajectory(trajectory: JsonNode, nonFiniteOffsets: readonly number[], onFinding: FindingCallback) {
  const reward = getMember(trajectory, 'reward');
  const isNumber = reward !== undefined && !nonFiniteOffsets.includes(startOffset(reward));
  for (const offset of nonFiniteOffsets) {
    const path = reward && startOffset(reward) === offset ? ['reward'] : [];
    onFinding('nan', offset, path, 'NaN and Infinity are not JSON numbers; use a number or null');
  }
  const facts = {
    policyVersion: lintPolicyVersions(trajectory, onFinding),
    tokens: lintTokens(trajectory, onFinding),
    messages: itemsAt(trajectory, 'messages_and_choices').length,
  };
  if (!reward || kindOf(reward) === 'null') onFinding('missing-reward', startOffset(trajectory), [], 'has no reward');
  if (!isNumber || kindOf(reward) !== 'number') return { ...facts, reward: undefined };
  const text = rawText(reward);
  if (!Number.isFinite(Number(text)))
    onFinding('huge-reward', startOffset(reward), ['reward'], 'exceeds the range of a double');
  return { ...facts, reward: text };
}

// Returns the policy version at the end of the run, or else at its start.
function lintPolicyVersions(trajectory: JsonNode, onFinding: FindingCallback): number | undefined {
  const [initial, final] = ['initial_policy_version', 'final_policy_version'].map((name) => {
    const version = getMember(trajectory, name);
    return version && kindOf(version) === 'number' ? version : undefined;
  });
  if (initial && final && compareNumberLiterals(rawText(initial), rawText(final)) > 0) {
    const message = `is ${rawText(initial)}, newer than final_policy_version ${rawText(final)}`;
    onFinding('policy-order', startOffset(initial), ['initial_policy_version'], message);
  }
  const version = final ?? initial;
  return version && Number(rawText(version));
}

// Reports a trajectory whose choices have no logprobs, or whose tokens are not `token_id:<n>` (docs/internals/servers.md). Returns the
// number of tokens.
function lintTokens(trajectory: JsonNode, onFinding: FindingCallback): number {
  let tokens = 0;
  let textTokens = 0;
  let first: { readonly token: JsonNode; readonly path: JsonPath } | undefined;
  for (const { list, path } of tokenArrays(trajectory)) {
    const { doc } = list;
    const end = doc.tape[list.at * 3 + 2] ?? 0;
    const signature = nameSignature('token');
    let index = 0;
    for (let entry = list.at + 1; entry < end; entry = doc.tape[entry * 3 + 2] ?? end) {
      const at = memberEntry(doc, entry, 'token', signature);
      tokens += 1;
      if (at !== undefined && !isTokenId({ doc, at })) {
        textTokens += 1;
        first ??= { token: { doc, at }, path: [...path, index, 'token'] };
      }
      index += 1;
    }
  }
  if (tokens === 0) onFinding('no-logprobs', startOffset(trajectory), [], 'no choice has logprobs');
  if (!first) return tokens;
  const more = textTokens > 1 ? ` (and ${textTokens - 1} more like this)` : '';
  const { token, path } = first;
  const text =
    kindOf(token) === 'string' ? JSON.stringify(truncateText(stringOf(token))) : 'a value that is not a string';
  onFinding('token-text', startOffset(token), path, `${text} is not token_id:<n>${more}`);
  return tokens;
}

const MAX_TEXT_CHARS = 40;

/** A text for a message: at most 40 characters of it. */
export function truncateText(text: string): string {
  return text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS)}…` : text;
}

function* tokenArrays(trajectory: JsonNode): Generator<{ list: JsonNode; path: JsonPath }> {
  // Trainers also use the additional histories.
  const additional = itemsAt(trajectory, 'additional_histories');
  for (const [number, history] of [trajectory, ...additional].entries()) {
    const path = number === 0 ? [] : ['additional_histories', number - 1];
    for (const [at, item] of itemsAt(history, 'messages_and_choices').entries()) {
      // A message has a role; a choice has a message.
      const logprobs = getMember(item, 'message') && getMember(item, 'logprobs');
      for (const name of ['content', 'refusal']) {
        const list = getMember(logprobs, name);
        if (list && kindOf(list) === 'list')
          yield { list, path: [...path, 'messages_and_choices', at, 'logprobs', name] };
      }
    }
  }
}

const TOKEN_ID_PREFIX = Array.from('"token_id:', (letter) => letter.charCodeAt(0));

// On the bytes, because there may be millions.
function isTokenId(token: JsonNode): boolean {
  const { bytes } = token.doc;
  const start = startOffset(token);
  const end = endOffset(token) - 1;
  const digits = start + TOKEN_ID_PREFIX.length;
  if (end <= digits) return false;
  for (let at = start; at < digits; at += 1) if (bytes[at] !== TOKEN_ID_PREFIX[at - start]) return false;
  for (let at = digits; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x30 || byte > 0x39) return false;
  }
  return true;
}

/** A hash of the tools of a trajectory, whitespace aside; the empty string for none, null and an empty array. */
export function createToolsHasher(): (trajectory: JsonNode) => string {
  // Most trajectories of a file have the same tools as the one before.
  let previous = { bytes: Buffer.alloc(0), hash: '' };
  return (trajectory) => {
    const tools = getMember(trajectory, 'tools');
    if (!tools || kindOf(tools) === 'null' || (kindOf(tools) === 'list' && itemsOf(tools).next().done)) return '';
    const bytes = rawBytes(tools);
    if (!previous.bytes.equals(bytes)) {
      const hash = createHash('sha256');
      for (const piece of compactChunks(tools)) hash.update(piece);
      previous = { bytes: Buffer.from(bytes), hash: hash.digest('base64') };
    }
    return previous.hash;
  };
}

/** Checks a trajectory; NaN and Infinity read as 0, and their offsets are returned. Throws InvalidTextError for other invalid JSON. */
export function checkAllowingNonFinite(
  event: TrajectoryPart,
  label: string,
  checks: TrajectoryChecks,
): { readonly root: JsonNode; readonly nonFiniteOffsets: readonly number[]; readonly syntaxError?: InvalidTextError } {
  try {
    return { root: checks.checkTrajectory(event, label), nonFiniteOffsets: [] };
  } catch (error) {
    if (!(error instanceof InvalidTextError)) throw error;
    const found = Array.from(findNonFiniteNumbers(event.bytes));
    if (found.length === 0) throw error;
    // Zeros in their place keep all offsets.
    const bytes = Buffer.from(event.bytes);
    for (const { at, length } of found) bytes.fill(' ', at, at + length).write('0', at);
    const root = checks.checkTrajectory({ ...event, bytes }, label);
    return { root, nonFiniteOffsets: found.map(({ at }) => at), syntaxError: error };
  }
}

// As Python writes them into JSON; up to a string that is malformed.
function* findNonFiniteNumbers(text: Buffer): Generator<{ at: number; length: number }> {
  try {
    for (let at = 0, end = 0; at < text.length; at = end) {
      end = tokenEnd(text, at);
      if (/^(?:-?Infinity|NaN)$/.test(text.toString('latin1', at, Math.min(end, at + 10))))
        yield { at, length: end - at };
    }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
}
