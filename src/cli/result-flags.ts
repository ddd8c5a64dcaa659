import { type Flag, repeatableFlag, switchFlag, valueFlag } from '../flag.ts';
import type { Operation } from '../operations/operation.ts';
import { schemaViewNames } from '../results/output-format.ts';

const EXPECTATION_GROUP = 'Expectations';
const preview = ['dry-run', 'curl'] as const;

/** The flags about the result of an operation that only its kind of result has. */
export function resultKindFlags({ result }: Operation): readonly Flag[] {
  return result.as === 'rows' ? schemaFlags : result.as === 'chat' ? chatFlags : [];
}

const schemaFlags: readonly Flag[] = [
  valueFlag('view', '<view>', 'Common', `How to show the schema: ${schemaViewNames.join(', ')}`, {
    choices: schemaViewNames,
    conflicts: ['format', 'json', 'jq', 'batch', ...preview],
  }),
  valueFlag(
    'expect',
    '<file>',
    EXPECTATION_GROUP,
    'Exit with 13 and list the differences if the schema differs from the one saved in this file',
    { conflicts: ['batch', ...preview] },
  ),
  switchFlag('update', EXPECTATION_GROUP, 'Write the file of --expect instead of comparing with it'),
];

const chatFlags: readonly Flag[] = [
  valueFlag('extract', '<kind>', 'Output', 'Print only the first code block of the text, or the first JSON', {
    choices: ['code', 'json'],
    conflicts: ['format', 'json', 'jq', 'batch'],
  }),
  switchFlag('stats', 'Output', 'Report tokens, time to the first token, tokens per second and retries on stderr', {
    conflicts: ['batch'],
  }),
  switchFlag('continue', 'Common', 'Continue the last conversation in the history, which must keep bodies (svc log)', {
    conflicts: ['conversation', 'batch'],
  }),
  repeatableFlag(
    'expect-text',
    '<regex>',
    EXPECTATION_GROUP,
    'Exit with 13 unless the text matches this regular expression (repeatable)',
    { conflicts: preview },
  ),
  repeatableFlag(
    'expect-not',
    '<regex>',
    EXPECTATION_GROUP,
    'Exit with 13 if the text matches this regular expression (repeatable)',
    { conflicts: preview },
  ),
  valueFlag(
    'expect-schema',
    '<@file>',
    EXPECTATION_GROUP,
    'Exit with 13 unless the text is JSON that conforms to this JSON Schema',
    { conflicts: preview },
  ),
  valueFlag('expect-finish', '<reason>', EXPECTATION_GROUP, 'Exit with 13 unless finish_reason is this one', {
    offers: ['stop', 'length', 'tool_calls'],
    conflicts: preview,
  }),
  valueFlag(
    'expect-max-latency',
    '<time>',
    EXPECTATION_GROUP,
    'Exit with 13 if the complete response takes longer, such as 2s',
    { conflicts: preview },
  ),
  valueFlag(
    'junit',
    '<file>',
    EXPECTATION_GROUP,
    'Write the outcome as a JUnit report, with one test case per request',
    { conflicts: preview },
  ),
];
