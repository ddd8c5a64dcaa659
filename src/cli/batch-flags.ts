import { settingFlag } from '../config/settings.ts';
import type { Flag } from '../flag.ts';

const BATCH_GROUP = 'Batch';

/** The flags for many bodies at once. */
export const batchFlags: readonly Flag[] = [
  {
    name: 'batch',
    takes: 'value',
    value: '<file>',
    group: BATCH_GROUP,
    summary: 'Send each line of a JSONL file, - is stdin; flags are defaults for what a line leaves out',
  },
  {
    name: 'concurrency',
    takes: 'value',
    value: '<n>',
    group: BATCH_GROUP,
    summary: 'Requests under way at most: 8 if not set; fewer while the service is short',
  },
  {
    name: 'rate',
    takes: 'value',
    value: '<n/s>',
    group: BATCH_GROUP,
    summary: 'Requests a second at most: 20/s, 100/m',
  },
  {
    name: 'resume',
    takes: 'switch',
    group: BATCH_GROUP,
    summary: 'Go on with the file of -o: send what is missing, and what failed and was not applied',
  },
  {
    name: 'retry-unknown',
    takes: 'switch',
    group: BATCH_GROUP,
    summary: 'With --resume, send lines again that may have been applied',
  },
  { name: 'fail-fast', takes: 'switch', group: BATCH_GROUP, summary: 'Take no more lines after the first that failed' },
  { name: 'ordered', takes: 'switch', group: BATCH_GROUP, summary: 'Keep the results in the order of the lines' },
  settingFlag('shard'),
];
