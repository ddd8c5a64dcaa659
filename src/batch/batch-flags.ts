import { settingFlag } from '../config/settings.ts';
import type { Flag } from '../flag.ts';

const BATCH_GROUP = 'Batch';

/** The flags of a batch. */
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
    summary: 'Maximum concurrent requests; reduced automatically on 429 and 503 (default: 8)',
  },
  {
    name: 'rate',
    takes: 'value',
    value: '<n/s>',
    group: BATCH_GROUP,
    summary: 'Maximum rate: 20/s or 100/m',
  },
  {
    name: 'resume',
    takes: 'switch',
    group: BATCH_GROUP,
    summary: 'Continue the run in the -o file: send lines without a result, and failed lines that were not applied',
  },
  {
    name: 'retry-unknown',
    takes: 'switch',
    group: BATCH_GROUP,
    summary: 'With --resume, also send lines whose outcome is unknown',
  },
  {
    name: 'accept-changes',
    takes: 'switch',
    group: BATCH_GROUP,
    summary: 'With --resume, send lines that changed, and accept other flags or another base URL',
  },
  {
    name: 'max-outage',
    takes: 'value',
    value: '<duration>',
    group: BATCH_GROUP,
    summary: 'How long to wait while no connection can be made; 0 fails lines at once (default: 5m)',
  },
  { name: 'fail-fast', takes: 'switch', group: BATCH_GROUP, summary: 'Stop taking lines after the first failure' },
  {
    name: 'max-failures',
    takes: 'value',
    value: '<n|n%>',
    group: BATCH_GROUP,
    summary: 'Stop taking lines after more failures than n, or than n% of at least 20 lines',
  },
  { name: 'ordered', takes: 'switch', group: BATCH_GROUP, summary: 'Write the results in the order of the lines' },
  settingFlag('shard'),
];
