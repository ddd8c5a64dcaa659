import type { RunCommand } from '../../command.ts';
import { dataDirectory } from '../../config/directories.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import { getStringFlag } from '../../flag.ts';
import { firstStringMember, getMember, itemsAt, membersOf, rawText, stringOf } from '../../json/json-node.ts';
import { type JsonValue, RawJson } from '../../json/write-json.ts';
import { openResultOutput, printResult, resultOf } from '../../results/print-result.ts';
import {
  createJobHistory,
  type JobStatus,
  jobHistoryFile,
  jobStatus,
  type TrainingJobRecord,
} from '../../train/job-history.ts';
import { parsePositive } from '../log.ts';

interface ListedJob {
  readonly record: TrainingJobRecord;
  readonly status: JobStatus;
}

/** Lists the training jobs sent from this machine, newest last. */
export const runTrainLog: RunCommand = async ({ flags }, context) => {
  const { runtime } = context;
  const output = await openResultOutput('rows', flags, context);
  const limit = parsePositive('--limit', getStringFlag(flags, 'limit'), 'for example --limit 10');
  const records = await createJobHistory(jobHistoryFile(dataDirectory(runtime)), runtime).read();
  const jobs = records.slice(-limit).map((record) => ({ record, status: jobStatus(record, runtime) }));
  const table = (): string[][] => [tableHeadings, ...jobs.map(jobToRow)];
  const emptyNote = 'no training job was sent from this machine';
  await printResult({ ...resultOf(jobs.map(jobToJson)), columns, table, tableFit, emptyNote }, output);
  await context.stdout.end();
};

// Every field as recorded, those of the outcome last.
function jobToJson({ record: { start, end }, status }: ListedJob): JsonValue {
  const fields = [start, end].flatMap((node) => (node ? Array.from(membersOf(node)) : []));
  const known = fields.flatMap(({ key, value }) =>
    key === 'entry' ? [] : [[key, new RawJson(rawText(value))] as const],
  );
  return { ...Object.fromEntries(known), outcome: status };
}

// The first fields of every record; those of the outcome follow.
const columns = [
  'started_at',
  'bytes',
  'digest',
  'files',
  'groups',
  'trajectories',
  'target',
  'model_id',
  'pid',
  'host',
];
const tableHeadings = ['WHEN', 'ID', 'DIGEST', 'SIZE', 'OUTCOME', 'FILES'];
const tableFit = { unbroken: ['WHEN', 'ID', 'OUTCOME'], optional: ['DIGEST', 'SIZE'] };

function jobToRow({ record: { start, end }, status }: ListedJob): string[] {
  const bytes = getMember(start, 'bytes');
  const files = itemsAt(start, 'files').map(stringOf);
  return [
    (firstStringMember(start, 'started_at') ?? '').replace(/\.\d+Z$/, 'Z'),
    firstStringMember(end, 'id') ?? '-',
    (firstStringMember(start, 'digest') ?? '').slice(0, 12),
    bytes ? formatByteSize(Number(rawText(bytes))) : '-',
    status,
    // A file name may contain a line feed.
    files.join(' ').replace(/\s/g, ' '),
  ];
}
