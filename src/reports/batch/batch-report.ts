import { firstStringMember, getMember, isTrue, itemsAt, type JsonNode, kindOf, rawText } from '../../json/json-node.ts';
import { chatText } from '../../operations/chat-text.ts';
import { createSpacedSample } from '../distribution.ts';
import { addResult, createBatchStatistics } from './batch-statistics.ts';
import type { LineStatus, ResultLineFacts } from './line-facts.ts';

/** What a report shows of one or more outputs, in bounded memory. */
export type BatchReport = ReturnType<typeof createBatchReport>;

const MAX_SAMPLES = 10;
const MAX_EXPECTATIONS = 50;
const MAX_SAMPLE_CHARS = 1000;

export function createBatchReport(name: string) {
  const sample = () =>
    createSpacedSample<{ readonly line: number; readonly id: string; readonly text: string }>(MAX_SAMPLES);
  return {
    name,
    statistics: createBatchStatistics(),
    /** By the flag of the expectation: `--expect-text ^yes`. */
    expectations: new Map<string, { passed: number; failed: number }>(),
    failures: sample(),
    responses: sample(),
    /** The prompts of lines, if the input is known. */
    prompts: new Map<number, string>(),
    /** Lines that no run sent; NaN if an output does not say, for example because its input was not read to its end. */
    unsent: 0,
    isInputUnread: false,
  };
}

export function addToReport(report: BatchReport, root: JsonNode, status: LineStatus, facts: ResultLineFacts): void {
  const { statistics, expectations, failures, responses } = report;
  addResult(statistics, { ...facts, status });
  const sample = status === 'done' ? responses : failures;
  sample.add(() => {
    const id = getMember(root, 'id');
    const text = id && kindOf(id) !== 'null' ? (firstStringMember(root, 'id') ?? rawText(id)) : '';
    return { line: facts.line, id: truncateSample(text), text: truncateSample(resultText(facts)) };
  });
  for (const one of itemsAt(root, 'expectations')) {
    const [expect = '', value = ''] = ['expect', 'value'].map((name) => firstStringMember(one, name));
    const name = `--expect-${expect.replace('_', '-')} ${value}`;
    const counts = expectations.get(name) ?? { passed: 0, failed: 0 };
    if (expectations.size < MAX_EXPECTATIONS) expectations.set(name, counts);
    counts[isTrue(getMember(one, 'passed')) ? 'passed' : 'failed'] += 1;
  }
}

/** The message of a failure, or the response: the text of a chat, and the JSON of anything else. */
export function resultText({ message, response }: ResultLineFacts): string {
  if (message !== undefined || !response) return message ?? '';
  return itemsAt(response, 'choices').length > 0 ? chatText(response).trimEnd() : rawText(response);
}

export function truncateSample(text: string): string {
  return text.length > MAX_SAMPLE_CHARS ? `${text.slice(0, MAX_SAMPLE_CHARS)}…` : text;
}

/** The expectations of one report that the other one lacks: those of the first, and those of the second. */
export function differentChecks([first, second]: readonly [BatchReport, BatchReport]): readonly [string[], string[]] {
  const lacking = (one: BatchReport, other: BatchReport): string[] =>
    [...one.expectations.keys()].filter((check) => !other.expectations.has(check));
  return [lacking(first, second), lacking(second, first)];
}

const MAX_CHANGED_LINES = 50;

/** How a line of the second output differs: it is not done only there, is done only there, or has another text. */
export const lineChanges = [
  ['worse', 'got worse'],
  ['better', 'got better'],
  ['different', 'have another text'],
] as const;

export type Comparison = ReturnType<typeof createComparison>;

export function createComparison() {
  // The failure or the response in the first output, and in the second one.
  const sample = () => createSpacedSample<{ line: number; before: string; after: string }>(MAX_CHANGED_LINES);
  const changes = { worse: sample(), better: sample(), different: sample() };
  return { compared: 0, failedInBoth: 0, onlyFirst: 0, onlySecond: 0, changes };
}
