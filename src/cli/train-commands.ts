import type { Command } from './command.ts';
import { jsonFlag, reportFlags } from './shared-flags.ts';

/** The commands around training jobs. Their second words are such only as the first word after `train`. */
export const trainCommands: readonly Command[] = [
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
      { ...jsonFlag, summary: 'Print the jobs as JSON also on a terminal' },
      ...reportFlags,
    ],
    examples: [
      { why: 'What was sent last', args: 'train log --limit 10' },
      { why: 'For a script', args: 'train log --json' },
    ],
    load: async () => (await import('../commands/train-log.ts')).runTrainLog,
  },
];
