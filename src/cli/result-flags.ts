import type { Flag } from '../flag.ts';
import type { Operation } from '../operations/operation.ts';
import { schemaViewNames } from '../results/output-format.ts';

const EXPECTATION_GROUP = 'Expectations';
const preview = ['dry-run', 'curl'] as const;

/** The flags about the result of an operation that only its kind of result has. */
export function resultKindFlags({ result }: Operation): readonly Flag[] {
  return result.as === 'rows' ? schemaFlags : result.as === 'chat' ? chatFlags : [];
}

const schemaFlags: readonly Flag[] = [
  {
    name: 'view',
    takes: 'value',
    value: '<view>',
    choices: schemaViewNames,
    group: 'Common',
    conflicts: ['format', 'json', 'jq', 'batch', ...preview],
    summary: `How to show the schema: ${schemaViewNames.join(', ')}`,
  },
  {
    name: 'expect',
    takes: 'value',
    value: '<file>',
    group: EXPECTATION_GROUP,
    conflicts: ['batch', ...preview],
    summary: 'Exit with 13 and list the differences if the schema differs from the one saved in this file',
  },
  {
    name: 'update',
    takes: 'switch',
    group: EXPECTATION_GROUP,
    summary: 'Write the file of --expect instead of comparing with it',
  },
];

const chatFlags: readonly Flag[] = [
  {
    name: 'extract',
    takes: 'value',
    value: '<kind>',
    choices: ['code', 'json'],
    group: 'Output',
    conflicts: ['format', 'json', 'jq', 'batch'],
    summary: 'Print only the first code block of the text, or the first JSON',
  },
  {
    name: 'stats',
    takes: 'switch',
    group: 'Output',
    conflicts: ['batch'],
    summary: 'Report tokens, time to the first token, tokens per second and retries on stderr',
  },
  {
    name: 'continue',
    takes: 'switch',
    group: 'Common',
    conflicts: ['conversation', 'batch'],
    summary: 'Continue the last conversation in the history, which must keep bodies (svc log)',
  },
  {
    name: 'expect-text',
    takes: 'values',
    value: '<regex>',
    group: EXPECTATION_GROUP,
    conflicts: preview,
    summary: 'Exit with 13 unless the text matches this regular expression (repeatable)',
  },
  {
    name: 'expect-not',
    takes: 'values',
    value: '<regex>',
    group: EXPECTATION_GROUP,
    conflicts: preview,
    summary: 'Exit with 13 if the text matches this regular expression (repeatable)',
  },
  {
    name: 'expect-schema',
    takes: 'value',
    value: '<@file>',
    group: EXPECTATION_GROUP,
    conflicts: preview,
    summary: 'Exit with 13 unless the text is JSON that conforms to this JSON Schema',
  },
  {
    name: 'expect-finish',
    takes: 'value',
    value: '<reason>',
    offers: ['stop', 'length', 'tool_calls'],
    group: EXPECTATION_GROUP,
    conflicts: preview,
    summary: 'Exit with 13 unless finish_reason is this one',
  },
  {
    name: 'expect-max-latency',
    takes: 'value',
    value: '<time>',
    group: EXPECTATION_GROUP,
    conflicts: preview,
    summary: 'Exit with 13 if the complete response takes longer, such as 2s',
  },
  {
    name: 'junit',
    takes: 'value',
    value: '<file>',
    group: EXPECTATION_GROUP,
    conflicts: preview,
    summary: 'Write the outcome as a JUnit report, with one test case per request',
  },
];
