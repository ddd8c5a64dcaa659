import { Buffer } from 'node:buffer';
import { fileReference } from '../body/input-reader.ts';
import { parseDurationMs } from '../config/setting-kinds.ts';
import type { Context } from '../context.ts';
import { errorMessage, type Failure, type FailureFacts, usageFailure } from '../errors.ts';
import { schemaMistakes } from '../fields/schema-mistakes.ts';
import { runWithTimeLimit } from '../http/time-limits.ts';
import { firstStringMember, formatJsonPath, getMember, type JsonNode } from '../json/json-node.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { decodeUtf8 } from '../json/utf8.ts';
import { choicesByIndex, contentText } from '../operations/chat-text.ts';
import { shellWord } from '../output/shell-quote.ts';
import { pluralize } from '../output/transfer-text.ts';
import { requestFailure } from './exchange-failure.ts';
import type { PreparedRequest } from './request.ts';
import type { ExpectationOptions } from './request-flags.ts';

export type ExpectationResult = {
  readonly expect: 'text' | 'not' | 'schema' | 'finish' | 'max_latency';
  readonly value: string;
  readonly passed: boolean;
  readonly actual?: string;
};

/** The expressions of a row, by the text of the flag that has columns. */
type RowExpressions = ReadonlyMap<string, RegExp>;

export type ChatExpectations = (
  response: JsonNode,
  milliseconds: number,
  expressions?: RowExpressions,
) => ExpectationResult[];

/** The flags `--expect-text` and `--expect-not` of rows, of which columns are a part. */
export function expectationTemplates({ expectText = [], expectNot = [] }: Partial<ExpectationOptions>): string[] {
  return [...expectText, ...expectNot].filter((text) => HAS_COLUMN.test(text));
}

const HAS_COLUMN = /{{.*}}/;

/** Reads the flags `--expect-*`, of which rows fill templates; undefined without any. Throws usage for an invalid one, and what `read` throws. */
export async function readChatExpectations(
  options: Partial<ExpectationOptions>,
  read: (path: string) => Promise<Uint8Array>,
  suspendSignals: Context['suspendSignals'],
  templates: readonly string[] = [],
): Promise<ChatExpectations | undefined> {
  const { expectText = [], expectNot = [], expectSchema, expectFinish, expectMaxLatency } = options;
  // Files are read after all flags.
  const latencyChecks = expectMaxLatency === undefined ? [] : [latencyCheck(expectMaxLatency)];
  const checks = [
    ...expectText.map((value) => textCheck('text', value, suspendSignals, templates.includes(value))),
    ...expectNot.map((value) => textCheck('not', value, suspendSignals, templates.includes(value))),
    ...(expectSchema === undefined ? [] : [await schemaCheck(expectSchema, read)]),
    ...(expectFinish === undefined ? [] : [finishCheck(expectFinish)]),
    ...latencyChecks,
  ];
  if (checks.length === 0) return undefined;
  return (response, milliseconds, expressions) =>
    checks.map(({ expect, value, problemOf }) => {
      const isUnreadable = expect !== 'max_latency' && choicesByIndex(response).length === 0;
      const actual = isUnreadable ? 'the response has no choice' : problemOf(response, milliseconds, expressions);
      return { expect, value, passed: actual === undefined, ...(actual === undefined ? {} : { actual }) };
    });
}

export function expectationFailure(
  results: readonly ExpectationResult[],
  facts: FailureFacts,
  request: PreparedRequest,
): Failure | undefined {
  const failed = results.filter(({ passed }) => !passed);
  if (failed.length === 0) return undefined;
  const list = failed.map(({ expect, value, actual }) => `--expect-${expect.replace('_', '-')} ${value}: ${actual}`);
  const message = `${pluralize(failed.length, 'expectation')} failed: ${list.join('; ')}`;
  return requestFailure('safety_check', message, { ...facts, applied: 'yes', cause: 'expectation' }, request);
}

interface Check extends Pick<ExpectationResult, 'expect' | 'value'> {
  readonly problemOf: (response: JsonNode, milliseconds: number, expressions?: RowExpressions) => string | undefined;
}

const MAX_ACTUAL_CHARS = 200;

// As servers name the ends of a text that is not complete.
const CUT_REASONS = ['length', 'max_tokens', 'model_length', 'content_filter'];

const EITHER_CASE_HINT = 'for letters of either case, write [Yy]es';

function textCheck(
  expect: 'text' | 'not',
  value: string,
  suspendSignals: Context['suspendSignals'],
  isTemplate: boolean,
): Check {
  // As a variable of CI that is not set.
  if (value === '')
    throw usageFailure(`--expect-${expect} is empty`, 'every text matches it; write a text, or . for any character');
  const [, literal] = /^\/([^/]+)\/[dgimsuvy]+$/.exec(value) ?? [];
  if (literal !== undefined)
    throw usageFailure(
      `--expect-${expect} ${value}: the slashes and the letters after them are a part of the pattern`,
      `write ${shellWord(literal)}; ${EITHER_CASE_HINT}; for the slashes themselves, write [/]`,
    );
  const hint = value.startsWith('(?i')
    ? EITHER_CASE_HINT
    : HAS_COLUMN.test(value)
      ? 'columns fill it with --rows alone'
      : 'write a JavaScript regular expression, such as "^Yes"';
  const common = isTemplate ? undefined : parseFlag(`--expect-${expect}`, hint, () => new RegExp(value, 'u'));
  const textProblem = (text: string, pattern: RegExp): string[] => {
    const [match] = pattern.exec(text) ?? [];
    if (expect === 'not') return match === undefined ? [] : [`the text contains ${quoteStart(match)}`];
    const own = isTemplate ? ` for ${pattern.source}` : '';
    const slashes = /^\/.*\/$/.test(value) ? '; the slashes are part of the pattern' : '';
    return match === undefined ? [`no match${own} in ${quoteStart(text)}${slashes}`] : [];
  };
  const problemOf: Check['problemOf'] = (response, _, expressions) => {
    const texts = responseTexts(response);
    const pattern = common ?? expressions?.get(value);
    if (!pattern) return 'could not be checked: there is no row';
    const cutReason = finishReasons(response).find((reason) => expect === 'not' && CUT_REASONS.includes(reason));
    try {
      // A match blocks the event loop, so Ctrl-C must end the process without a listener.
      const problem = suspendSignals(() =>
        runWithTimeLimit(() => texts.flatMap((text) => textProblem(text, pattern))[0]),
      );
      // The rest might have a match.
      return problem ?? (cutReason && `could not be checked: the text was cut (finish reason ${cutReason})`);
    } catch (error) {
      return `could not be checked: ${errorMessage(error)}`;
    }
  };
  return { expect, value, problemOf };
}

async function schemaCheck(value: string, read: (path: string) => Promise<Uint8Array>): Promise<Check> {
  const { createJsonSchemaCheck } = await import('../local-service/model/json-schema.ts');
  const path = fileReference(value, '--expect-schema');
  const schema = path === undefined ? Buffer.from(value) : await read(path);
  const root = tryParseJson(schema);
  const mistake = root && [...schemaMistakes(root, [])].find(({ code }) => code !== 'unwise');
  const place = mistake ? ` (${formatJsonPath(mistake.path)} ${mistake.message})` : '';
  const check = parseFlag(
    `--expect-schema: ${path === undefined ? '' : `${path} is `}not a JSON Schema${place}`,
    path === undefined ? 'write --expect-schema @file' : 'correct the file',
    () => createJsonSchemaCheck(decodeUtf8(schema).toString()),
  );
  const textProblem = (text: string): string | undefined => {
    const root = tryParseJson(Buffer.from(text));
    return root ? check(root.doc.bytes.toString()) : `invalid JSON: ${quoteStart(text)}`;
  };
  const problemOf = (response: JsonNode): string | undefined =>
    responseTexts(response).flatMap((text) => textProblem(text) ?? [])[0];
  return { expect: 'schema', value, problemOf };
}

function finishCheck(value: string): Check {
  const problemOf = (response: JsonNode): string | undefined => {
    const wrong = finishReasons(response).find((reason) => reason !== value);
    return wrong === undefined ? undefined : `finish_reason is ${wrong}`;
  };
  return { expect: 'finish', value, problemOf };
}

function finishReasons(response: JsonNode): string[] {
  return choicesByIndex(response).map((choice) => firstStringMember(choice, 'finish_reason') ?? 'null');
}

function latencyCheck(value: string): Check {
  const limitMs = parseDurationMs('--expect-max-latency', value);
  const problemOf = (_: JsonNode, milliseconds: number): string | undefined =>
    milliseconds <= limitMs ? undefined : `the response took ${(milliseconds / 1000).toFixed(2)} s`;
  return { expect: 'max_latency', value, problemOf };
}

function parseFlag<T>(label: string, hint: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw usageFailure(`${label}: ${errorMessage(error)}`, hint);
  }
}

function quoteStart(text: string): string {
  return JSON.stringify(text.slice(0, MAX_ACTUAL_CHARS));
}

function responseTexts(response: JsonNode): string[] {
  return choicesByIndex(response).map((choice) => contentText(getMember(choice, 'message')));
}
