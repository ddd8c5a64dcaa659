import { settingFlag } from '../config/settings.ts';
import { type Flag, switchFlag, valueFlag } from '../flag.ts';

const batchValue = (name: string, value: string, summary: string): Flag => valueFlag(name, value, 'Batch', summary);
const batchSwitch = (name: string, summary: string): Flag => switchFlag(name, 'Batch', summary);

/** The flags of a batch. */
export const batchFlags: readonly Flag[] = [
  batchValue(
    'batch',
    '<file>',
    'Send each line of a JSONL file as a request; - is stdin; flags fill in fields that a line omits',
  ),
  batchValue('concurrency', '<n>', 'Maximum concurrent requests; reduced automatically on 429 and 503 (default: 8)'),
  batchValue('rate', '<n/s>', 'Maximum rate: 20/s or 100/m'),
  batchSwitch(
    'resume',
    'Continue the run in the -o file: send lines without a result, and failed lines that were not applied',
  ),
  batchSwitch('retry-unknown', 'With --resume, also send lines whose outcome is unknown'),
  batchSwitch('accept-changes', 'With --resume, send lines that changed, and accept other flags or another base URL'),
  batchValue(
    'max-outage',
    '<duration>',
    'How long to wait while no connection can be made; 0 fails lines at once (default: 5m)',
  ),
  batchSwitch('fail-fast', 'Stop reading lines after the first failure'),
  batchValue(
    'max-failures',
    '<n|n%>',
    'Stop reading lines after more failures than n, or than n% of at least 20 lines',
  ),
  batchSwitch('ordered', 'Write the results in the order of the lines'),
  settingFlag('shard'),
];
