import type { Command } from '../command.ts';
import { lintKindNames } from '../train/lint/lint-kinds.ts';
import { reportFlags, resultFlags } from './shared-flags.ts';

/** The commands around training jobs. Their second words are such only as the first word after `train`. */
export const trainCommands: readonly Command[] = [
  {
    words: ['train', 'lint'],
    summary: 'Check trajectories for what cannot be trained on',
    about:
      'Sends nothing and needs no credentials. Tells of groups, trajectories, rewards and sizes, and finds what a service takes but nothing can be learned from; of each kind of finding the first hundred are told and all are counted. Minima and maxima of rewards are exact, means and spreads (standard deviations) are doubles. Ends with 3 where the files could not be sent as they are.',
    argument: {
      name: 'files',
      summary: 'Trajectory groups: a JSON list, or JSONL with a group a line; - is stdin',
      isRepeatable: true,
      isFile: true,
    },
    flags: [
      {
        name: 'file',
        short: 'f',
        takes: 'value',
        value: '<file>',
        group: 'Common',
        summary: 'A whole body; - is stdin',
      },
      {
        name: 'group-by',
        takes: 'value',
        value: '<path>',
        group: 'Common',
        summary: 'Put trajectories into groups by the value at a path in each, such as metadata.task',
      },
      {
        name: 'fail-on',
        takes: 'values',
        value: '<kinds>',
        offers: ['any', ...lintKindNames],
        group: 'Common',
        summary: `End with 13 if there are such findings: any, or of ${lintKindNames.join(', ')}; with commas between them`,
      },
      {
        name: 'annotations',
        takes: 'value',
        value: '<format>',
        choices: ['github'],
        group: 'Common',
        summary: 'Also print each finding on stderr as a workflow command, which GitHub shows beside the line',
      },
      ...resultFlags('report'),
      ...reportFlags,
    ],
    examples: [
      { why: 'What would be trained on', args: 'train lint groups.jsonl' },
      { why: 'In CI, before it is sent', args: 'train lint groups.jsonl --fail-on zero-variance,no-logprobs' },
      { why: 'A trajectory a line, by task', args: 'train lint runs.jsonl --group-by metadata.task' },
    ],
    load: async () => (await import('../commands/train/lint.ts')).runTrainLint,
  },
  {
    words: ['train', 'log'],
    summary: 'List the training jobs that were sent from here',
    about:
      'Each job that svc train sent, or tried to: when, its id, the digest of its body, size, outcome and files, the newest last. As JSON all that is known, without a digit lost. A job whose outcome is unknown may have been applied.',
    flags: [
      {
        name: 'limit',
        takes: 'value',
        value: '<n>',
        group: 'Common',
        summary: 'Only so many, the newest ones',
      },
      ...resultFlags('rows'),
      ...reportFlags,
    ],
    examples: [
      { why: 'What was sent last', args: 'train log --limit 10' },
      { why: 'For a script', args: 'train log --json' },
    ],
    load: async () => (await import('../commands/train/log.ts')).runTrainLog,
  },
];
