import { Buffer } from 'node:buffer';
import { parseDurationMs } from '../../config/parse-duration.ts';
import { Failure, type FailureFacts, usageFailure } from '../../errors.ts';
import { type FlagValues, getArrayFlag, getStringFlag } from '../../flag.ts';
import { firstStringMember, getMember, type JsonNode } from '../../json/json-node.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { choicesByIndex, contentText } from '../../results/chat-text.ts';

/** The outcome of one expectation, as result lines of a batch record it. */
export type ExpectationResult = {
  readonly expect: 'text' | 'not' | 'schema' | 'finish' | 'max_latency';
  readonly value: string;
  readonly passed: boolean;
  /** What the response has instead. */
  readonly actual?: string;
};

/** Compares a chat completion that took so many milliseconds with all expectations. */
export type ChatExpectations = (response: JsonNode, milliseconds: number) => ExpectationResult[];

/** Reads the flags `--expect-*`; undefined without any. Throws usage for an invalid one, and what `read` throws. */
export async function readChatExpectations(
  flags: FlagValues,
  read: (path: string) => Promise<Uint8Array>,
): Promise<ChatExpectations | undefined> {
  const checks = [
    ...getArrayFlag(flags, 'expect-text').map((value) => textCheck('text', value)),
    ...getArrayFlag(flags, 'expect-not').map((value) => textCheck('not', value)),
    ...(await schemaChecks(getStringFlag(flags, 'expect-schema'), read)),
    ...finishChecks(getStringFlag(flags, 'expect-finish')),
    ...latencyChecks(getStringFlag(flags, 'expect-max-latency')),
  ];
  return checks.length === 0
    ? undefined
    : (response, milliseconds) => checks.map((check) => check(response, milliseconds));
}

/** The Failure `guard` of expectations that a response does not meet; undefined where it meets all. */
export function expectationFailure(results: readonly ExpectationResult[], facts: FailureFacts): Failure | undefined {
  const failed = results.filter(({ passed }) => !passed);
  if (failed.length === 0) return undefined;
  const list = failed.map(describeExpectation).join('; ');
  return new Failure('guard', `${failed.length === 1 ? 'expectation' : 'expectations'} failed: ${list}`, {
    ...facts,
    applied: 'yes',
  });
}

function describeExpectation({ expect, value, actual = '' }: ExpectationResult): string {
  const flag = `--expect-${expect.replace('_', '-')} ${value}`;
  return `${flag}: ${actual}`;
}

type ExpectationCheck = (response: JsonNode, milliseconds: number) => ExpectationResult;

const MAX_ACTUAL_CHARS = 200;

function textCheck(expect: 'text' | 'not', value: string): ExpectationCheck {
  const pattern = compilePattern(expect, value);
  return (response) => {
    const texts = responseTexts(response);
    const wrong = texts.find((text) => pattern.test(text) !== (expect === 'text'));
    if (wrong === undefined) return { expect, value, passed: true };
    const found = expect === 'not' ? (pattern.exec(wrong)?.[0] ?? '') : wrong;
    const problem = expect === 'not' ? 'the text contains' : 'no match in';
    return { expect, value, passed: false, actual: `${problem} ${JSON.stringify(found.slice(0, MAX_ACTUAL_CHARS))}` };
  };
}

function compilePattern(expect: string, value: string): RegExp {
  try {
    return new RegExp(value, 'u');
  } catch (error) {
    throw usageFailure(
      `--expect-${expect}: ${error instanceof Error ? error.message : String(error)}`,
      'write a regular expression of JavaScript, such as "^Yes"',
    );
  }
}

async function schemaChecks(
  value: string | undefined,
  read: (path: string) => Promise<Uint8Array>,
): Promise<ExpectationCheck[]> {
  if (value === undefined) return [];
  const { createJsonSchemaCheck } = await import('../../local-service/model/smallest-value.ts');
  const schemaText = value.startsWith('@') ? Buffer.from(await read(value.slice(1))).toString() : value;
  const check = parseSchema(() => createJsonSchemaCheck(schemaText));
  return [
    (response) => {
      for (const text of responseTexts(response)) {
        const isJson = tryParseJson(Buffer.from(text)) !== undefined;
        const problem = isJson ? check(text) : `not JSON: ${JSON.stringify(text.slice(0, MAX_ACTUAL_CHARS))}`;
        if (problem !== undefined) return { expect: 'schema', value, passed: false, actual: problem };
      }
      return { expect: 'schema', value, passed: true };
    },
  ];
}

function parseSchema<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw usageFailure(`--expect-schema: not a JSON Schema: ${reason}`, 'write --expect-schema @file');
  }
}

function finishChecks(value: string | undefined): ExpectationCheck[] {
  if (value === undefined) return [];
  return [
    (response) => {
      const reasons = choicesByIndex(response).map((choice) => firstStringMember(choice, 'finish_reason') ?? 'null');
      const wrong = reasons.find((reason) => reason !== value);
      const actual = wrong === undefined ? {} : { actual: `finish_reason is ${wrong}` };
      return { expect: 'finish', value, passed: wrong === undefined, ...actual };
    },
  ];
}

function latencyChecks(value: string | undefined): ExpectationCheck[] {
  if (value === undefined) return [];
  const limitMs = parseDurationMs('--expect-max-latency', value);
  return [
    (_, milliseconds) => {
      const passed = milliseconds <= limitMs;
      const actual = passed ? {} : { actual: `the response took ${(milliseconds / 1000).toFixed(2)} s` };
      return { expect: 'max_latency', value, passed, ...actual };
    },
  ];
}

function responseTexts(response: JsonNode): string[] {
  return choicesByIndex(response).map((choice) => contentText(getMember(choice, 'message')));
}
