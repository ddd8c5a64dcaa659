import type { CommandDefinition } from '../command.ts';
import { flagGroup } from '../flag.ts';
import { lintKindNames } from '../train/lint/lint-kinds.ts';
import { reportFlagsExcept, resultFlags } from './shared-flags.ts';

/** The commands about training jobs. `lint` and `log` are commands only as the first word after `train`. */
export const trainCommands: readonly CommandDefinition[] = [
  {
    words: ['train', 'lint'],
    summary: 'Check trajectories without sending them',
    about:
      'Needs no credentials. Reports groups, trajectories, rewards and sizes, and data that a service accepts although it contains no training signal. Counts all findings, and prints the first ones of each kind (--json: the first 100). Minimum and maximum of rewards are exact; mean and standard deviation are doubles. Exits with 3 if a file is invalid.',
    argument: {
      name: 'files',
      summary: 'Trajectory groups: JSON arrays, JSONL with one group per line, gzip, directories; - is stdin',
      isRepeatable: true,
      isFile: true,
    },
    flags: () => [
      ...flagGroup('Common', {
        '-f, --file <file>': 'A whole training body; - is stdin',
        '--group-by <path>': 'Group trajectories by the value at this path, such as metadata.task',
        '--fail-on <kinds>...': {
          summary: `Exit with 13 on findings of these kinds, separated by commas: any, ${lintKindNames.join(', ')}`,
          offers: ['any', ...lintKindNames],
        },
        '--annotations <github>': {
          summary: 'Also print each finding on stderr as a workflow command, which GitHub shows beside the line',
          choices: ['github'],
        },
      }),
      ...resultFlags('report'),
      ...reportFlagsExcept('verbose'),
    ],
    examples: [
      { why: 'Summarize the training data', args: 'train lint groups.jsonl' },
      {
        why: 'Fail in CI if data has no training signal',
        args: 'train lint groups.jsonl --fail-on zero-variance,no-logprobs',
      },
      {
        why: 'Group trajectories by task, one trajectory per line',
        args: 'train lint runs.jsonl --group-by metadata.task',
      },
    ],
    load: async () => (await import('../commands/train/lint.ts')).runTrainLint,
  },
  {
    words: ['train', 'log'],
    summary: 'List the training jobs sent from this machine',
    about:
      'Lists time, id, digest of the body, size, outcome and files of each job that svc train sent or tried to send, newest last. A job with an unknown outcome may have been applied.',
    flags: () => [
      ...flagGroup('Common', { '--limit <n>': 'Show only the newest n jobs' }),
      ...resultFlags('rows'),
      ...reportFlagsExcept('verbose'),
    ],
    examples: [
      { why: 'Show the last jobs', args: 'train log --limit 10' },
      { why: 'Print all jobs as JSON', args: 'train log --json' },
    ],
    load: async () => (await import('../commands/train/log.ts')).runTrainLog,
  },
];
