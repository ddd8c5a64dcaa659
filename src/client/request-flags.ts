import type { BodySourceOptions } from '../body/body-flags.ts';
import type { ServiceOptions } from '../config/settings.ts';
import { type FlagList, flagGroup, type Options, type OptionsOfList } from '../flag.ts';
import { type ResultOptions, resultFlagNames, schemaViewNames } from '../output/output-format.ts';

const preview = ['dry-run', 'curl'] as const;
const lines = ['batch', 'rows'] as const;

export const sendingFlags = flagGroup('Output', {
  '-o, --output <file>': 'Write the result to a file; - is stdout',
  '-n, --dry-run': 'Print the request and send nothing',
  '--curl': { summary: 'Print the request as a curl command and send nothing', conflicts: ['dry-run'] },
});

export const summaryFlags = flagGroup('Output', {
  '--summary <file>': { summary: 'Append a Markdown summary of the run, for CI', conflicts: preview },
});

export const trainFlags = flagGroup('Common', {
  '--group-by <path>': {
    summary: 'Field that groups trajectories; for files with one per line, such as metadata.task',
    conflicts: lines,
  },
  '--allow-duplicate': 'Send the job even if the same one was already sent from this machine',
});

export const traceFlags = flagGroup('Common', {
  '--no-parent': 'Ignore the parent call that TRACEPARENT names',
  '--export[=<github>]': {
    summary: 'Print export lines for eval, so that child processes continue the trace; =github writes to $GITHUB_ENV',
    choices: ['github'],
    conflicts: [...resultFlagNames, ...lines, ...preview],
  },
});

export const schemaViewFlags = flagGroup('Common', {
  '--view <view>': {
    summary: `How to show the schema: ${schemaViewNames.join(', ')}`,
    choices: schemaViewNames,
    conflicts: [...resultFlagNames, ...lines, ...preview],
  },
});

export const schemaExpectationFlags = flagGroup('Expectations', {
  '--expect <file>': {
    summary: 'Exit with 13 and list the differences if the schema differs from the one saved in this file',
    conflicts: [...lines, ...preview],
  },
  '--update': 'Write the file of --expect instead of comparing with it',
});

const EXTRACT_FROM_RESULTS =
  "leave it out, and filter the results: svc batch merge <output> --jq '.response.choices[0].message.content'";

export const chatResponseFlags = flagGroup('Response', {
  '--extract <code|json>': {
    summary: 'Print only the first code block; or the first JSON',
    choices: ['code', 'json'],
    conflicts: [...resultFlagNames, ...lines],
    instead: {
      jq: 'filter the block outside of svc: svc chat <prompt> --extract json | jq <filter>',
      ...Object.fromEntries(lines.map((name) => [name, EXTRACT_FROM_RESULTS])),
    },
  },
  '--stats': { summary: 'Report tokens, times and retries on stderr', conflicts: lines },
});

export const continueFlags = flagGroup('Common', {
  '--continue': {
    summary: 'Continue the last conversation of the history; needs bodies there (see svc log)',
    conflicts: ['conversation', ...lines],
  },
});

const expectationForms = {
  '--expect-text <regex>...': 'Exit with 13 unless the text matches (repeatable)',
  '--expect-not <regex>...': 'Exit with 13 if the text matches (repeatable)',
  '--expect-schema <@file>': 'Exit with 13 unless the text conforms; a JSON Schema',
  '--expect-finish <reason>': {
    summary: 'Exit with 13 unless finish_reason is this',
    offers: ['stop', 'length', 'tool_calls'],
  },
  '--expect-max-latency <duration>': 'Exit with 13 if the response takes longer; such as 2s',
  '--junit <file>': 'Write a JUnit report; one test case per request',
} as const;

export type ExpectationOptions = Options<typeof expectationForms>;

export const expectationFlags: FlagList<ExpectationOptions> = flagGroup('Expectations', expectationForms).map(
  // A dry run checks the form of an expectation.
  (flag) => ({ ...flag, conflicts: flag.name === 'junit' ? preview : ['curl'] }),
);

/** The options of a request about which settings are resolved; other commands that send have some of them. */
export type SettingOptions = ServiceOptions &
  BodySourceOptions &
  ResultOptions &
  OptionsOfList<typeof sendingFlags> &
  OptionsOfList<typeof schemaViewFlags>;

/** The options of every operation; those that an operation does not have are undefined. */
export type OperationOptions = SettingOptions &
  ExpectationOptions &
  OptionsOfList<typeof summaryFlags> &
  OptionsOfList<typeof trainFlags> &
  OptionsOfList<typeof traceFlags> &
  OptionsOfList<typeof schemaExpectationFlags> &
  OptionsOfList<typeof chatResponseFlags> &
  OptionsOfList<typeof continueFlags>;
