import type { HistoryLimits } from '../client/request-history.ts';
import { promptHistoryFile, pruneHistory, readRequestHistory, requestHistoryFile } from '../client/request-history.ts';
import type { RunCommand } from '../command.ts';
import { confirm } from '../config/credentials/prompt.ts';
import { dataDirectory } from '../config/environment.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../errors.ts';
import { parseAgeStart } from '../fields/string-formats.ts';
import { formatByteSize, parseByteSize } from '../files/byte-size.ts';
import type { OptionsOfList } from '../flag.ts';
import type { JsonNode } from '../json/json-node.ts';
import { firstStringMember, getMember, itemsAt, kindOf, membersOf, rawText, stringOf } from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { type JsonValue, RawJson } from '../json/write-json.ts';
import type { ResultOptions } from '../output/output-format.ts';
import { pluralize } from '../output/transfer-text.ts';
import { openResultOutput, printResult, resultOf } from '../results/print-result.ts';
import { createJobHistory, jobHistoryFile, jobStatus, type TrainingJobRecord } from '../train/job-history.ts';
import { parametersOf } from '../train/job-parameters.ts';
import type { limitRequestsFlag, pruneFlags, yesFlag } from './definitions/command-flags.ts';

type ListOptions = ResultOptions & OptionsOfList<typeof limitRequestsFlag>;

export const runLog: RunCommand<ListOptions> = async ({ options }, context) => {
  await printRecords(options, context, requestList, async () => {
    const records = await readRequestHistory(requestHistoryFile(context.runtime));
    return records.map((record, at) => ({
      row: { n: at + 1, ...fieldsWithout(['request', 'response'], record) },
      cells: () => requestCells(at + 1, record),
    }));
  });
};

export const runTrainLog: RunCommand<ListOptions> = async ({ options }, context) => {
  const { runtime } = context;
  await printRecords(options, context, jobList, async () => {
    const records = await createJobHistory(jobHistoryFile(dataDirectory(runtime)), runtime).read();
    const parameters = differingParameters(records);
    return records.map((record, at) => {
      const outcome = jobStatus(record, runtime);
      const ended = record.end ? fieldsWithout(['entry'], record.end) : {};
      const row = { ...fieldsWithout(['entry', 'process_start', 'process_scope'], record.start), ...ended, outcome };
      return { row, cells: () => jobCells(record, outcome, parameters[at] ?? '') };
    });
  });
};

async function printRecords(
  options: ListOptions,
  context: Context,
  { headings, ...list }: typeof requestList,
  readRecords: () => Promise<{ readonly row: JsonValue; readonly cells: () => string[] }[]>,
): Promise<void> {
  const output = await openResultOutput('rows', options, context);
  const limit = parsePositive('--limit', options.limit, 'for example --limit 10');
  const listed = (await readRecords()).slice(-limit);
  const table = (): string[][] => [headings, ...listed.map(({ cells }) => cells())];
  await printResult({ ...resultOf(listed.map(({ row }) => row)), ...list, table }, output);
}

export const runLogShow: RunCommand<ResultOptions> = async ({ args, options }, context) => {
  const output = await openResultOutput('document', options, context);
  const [wanted = ''] = args;
  const records = await readRequestHistory(requestHistoryFile(context.runtime));
  const record =
    (/^[1-9]\d{0,8}$/.test(wanted) ? records[Number(wanted) - 1] : undefined) ??
    records.findLast((each) => idsOf(each).includes(wanted));
  if (!record) {
    const what = `the history has no record ${JSON.stringify(wanted)}; it has ${records.length}`;
    throw usageFailure(what, records.length === 0 ? requestList.emptyNote : 'for numbers and ids, run: svc log');
  }
  await printResult({ doc: parseJson(rawText(record)) }, output);
};

export const runLogClear: RunCommand<ResultOptions & OptionsOfList<typeof yesFlag>> = async ({ options }, context) => {
  const output = await openResultOutput('record', options, context);
  const all = { maxRecords: 0 };
  const { removed, removed_prompts: prompts } = await pruneHistories(all, true, context);
  const typed = prompts > 0 ? ` and prompts (${prompts})` : '';
  const isConfirmed = await confirm(context, `Remove all recorded requests (${removed})${typed}?`, options.yes);
  const none = { removed: 0, removed_prompts: 0, removed_bytes: 0 };
  await printResult(resultOf(isConfirmed ? await pruneHistories(all, false, context) : none), output);
};

export const runLogPrune: RunCommand<ResultOptions & OptionsOfList<typeof pruneFlags>> = async (
  { options },
  context,
) => {
  const output = await openResultOutput('record', options, context);
  const [age, size] = [options.olderThan, options.maxSize];
  if (age === undefined && size === undefined)
    throw usageFailure('svc log prune needs a limit', 'give --older-than <age> or --max-size <size>');
  const since = age === undefined ? undefined : parseAgeStart('--older-than', age, context.runtime.now());
  const maxBytes = size === undefined ? undefined : parseByteSize('--max-size', size);
  const isDryRun = options.dryRun === true;
  const removed = await pruneHistories({ since, maxBytes }, isDryRun, context);
  await printResult(resultOf(removed), output);
  const { removed: requests, removed_prompts: prompts, removed_bytes: bytes } = removed;
  await context.report.note(
    `${isDryRun ? 'would remove' : 'removed'} ${requests} ${pluralize(requests, 'request')} and ${prompts} ${pluralize(prompts, 'prompt')} (${formatByteSize(bytes)})`,
  );
};

// The request history, and beyond the age the prompts of interactive chats.
async function pruneHistories({ maxBytes, ...limits }: HistoryLimits, isDryRun: boolean, { runtime }: Context) {
  const fromLog = await pruneHistory(requestHistoryFile(runtime), { maxBytes, ...limits }, runtime, isDryRun);
  const fromChats = await pruneHistory(promptHistoryFile(runtime), limits, runtime, isDryRun);
  const removed_bytes = fromLog.bytes + fromChats.bytes;
  return { removed: fromLog.records, removed_prompts: fromChats.records, removed_bytes };
}

// Infinite if it is not given.
function parsePositive(name: string, text: string | undefined, hint: string): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw usageFailure(`${name}: ${JSON.stringify(text)} is not a positive integer`, hint);
}

function fieldsWithout(names: readonly string[], record: JsonNode): { readonly [name: string]: JsonValue } {
  const fields = Array.from(membersOf(record)).filter(({ key }) => !names.includes(key));
  return Object.fromEntries(fields.map(({ key, value }) => [key, new RawJson(rawText(value))]));
}

const requestList = {
  emptyNote: 'no requests are recorded; to record them, set SVC_HISTORY=1, or run: svc profile set <name> --history on',
  columns: ['n', 'time', 'command', 'url', 'ms', 'status', 'exit_code', 'applied', 'model', 'ids'],
  headings: ['N', 'TIME', 'COMMAND', 'STATUS', 'EXIT', 'TOKENS', 'MS', 'MODEL', 'TEXT', 'IDS'],
  tableFit: {
    unbroken: ['TIME', 'COMMAND', 'IDS'],
    optional: ['IDS', 'TEXT', 'MODEL', 'TOKENS', 'MS', 'STATUS', 'EXIT'],
  },
};

const MAX_TEXT_CHARS = 40;

function requestCells(number: number, record: JsonNode): string[] {
  const field = (name: string): string => {
    const value = getMember(record, name);
    return !value || kindOf(value) === 'null' ? '-' : kindOf(value) === 'string' ? stringOf(value) : rawText(value);
  };
  const lastMessage = itemsAt(getMember(record, 'request'), 'messages').at(-1);
  return [
    String(number),
    timeCell(record, 'time'),
    ...['command', 'status', 'exit_code'].map(field),
    `${field('prompt_tokens')}/${field('completion_tokens')}`,
    ...['ms', 'model'].map(field),
    firstStringMember(lastMessage, 'content')?.slice(0, MAX_TEXT_CHARS) ?? '-',
    idsOf(record).join(' ') || '-',
  ];
}

function idsOf(record: JsonNode): string[] {
  const ids = getMember(record, 'ids');
  return Array.from(ids ? membersOf(ids) : [], ({ value }) => stringOf(value));
}

const jobList = {
  emptyNote: 'no training job was sent from this machine',
  columns: 'started_at bytes digest files groups trajectories target model_id experimental_config pid host'.split(' '),
  headings: ['WHEN', 'ID', 'NAME', 'PARAMETERS', 'MODEL', 'DIGEST', 'SIZE', 'OUTCOME', 'SERVICE', 'FILES'],
  tableFit: {
    unbroken: ['WHEN', 'ID', 'OUTCOME'],
    optional: ['MODEL', 'DIGEST', 'SIZE', 'SERVICE', 'FILES', 'WHEN', 'NAME', 'PARAMETERS'],
  },
};

// Of each job, the parameters that not all jobs have with the same value; of a single job, all.
function differingParameters(records: readonly TrainingJobRecord[]): string[] {
  const configs = records.map(({ start }) => parametersOf(getMember(start, 'experimental_config')));
  const names = [...new Set(configs.flatMap((config) => [...config.keys()]))];
  const isSame = (name: string): boolean => new Set(configs.map((config) => config.get(name))).size === 1;
  const differing = new Set(names.filter((name) => name !== 'name' && (configs.length === 1 || !isSame(name))));
  return configs.map((config) => {
    const own = [...config].filter(([name]) => differing.has(name));
    return own.map(([name, value]) => `${name}=${value}`).join(' ');
  });
}

function jobCells({ start, end }: TrainingJobRecord, status: string, parameters: string): string[] {
  const bytes = getMember(start, 'bytes');
  const target = firstStringMember(start, 'target') ?? '-';
  const cells = [
    timeCell(start, 'started_at'),
    firstStringMember(end, 'id') ?? '-',
    firstStringMember(getMember(start, 'experimental_config'), 'name') ?? '-',
    parameters || '-',
    firstStringMember(start, 'model_id') ?? '-',
    (firstStringMember(start, 'digest') ?? '').slice(0, 12),
    bytes ? formatByteSize(Number(rawText(bytes))) : '-',
    status,
    URL.canParse(target) ? new URL(target).host : target,
    itemsAt(start, 'files').map(stringOf).join(' '),
  ];
  // A file name may contain a line feed.
  return cells.map((cell) => cell.replace(/\s/g, ' '));
}

function timeCell(record: JsonNode, name: string): string {
  return (firstStringMember(record, name) ?? '').replace(/\.\d+Z$/, 'Z');
}
