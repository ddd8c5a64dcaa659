import {
  type HistoryLimits,
  promptHistoryFile,
  pruneHistory,
  readRequestHistory,
  requestHistoryFile,
} from '../client/history/request-history.ts';
import type { RunCommand } from '../command.ts';
import { confirm } from '../config/credentials/prompt.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../errors.ts';
import { parseAgeStart } from '../fields/string-formats.ts';
import { formatByteSize, parseByteSize } from '../files/byte-size.ts';
import { getStringFlag, isFlagOn } from '../flag.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  type JsonNode,
  kindOf,
  membersOf,
  rawText,
  stringOf,
} from '../json/json-node.ts';
import { parseJson } from '../json/parse-json.ts';
import { pluralize } from '../json/pluralize.ts';
import { type JsonValue, RawJson } from '../json/write-json.ts';
import { openResultOutput, printResult, resultOf } from '../results/print-result.ts';

const BODY_FIELDS: readonly string[] = ['request', 'response'];

/** Lists the recorded requests, newest last, without their bodies. */
export const runLog: RunCommand = async ({ flags }, context) => {
  const output = await openResultOutput('rows', flags, context);
  const limit = parsePositive('--limit', getStringFlag(flags, 'limit'), 'for example --limit 10');
  const records = await readRequestHistory(requestHistoryFile(context.runtime));
  const listed = records.map((record, at) => ({ number: at + 1, record })).slice(-limit);
  const rows = listed.map(({ number, record }): JsonValue => ({ n: number, ...recordFields(record) }));
  const table = (): string[][] => [tableHeadings, ...listed.map(({ number, record }) => tableRow(number, record))];
  const emptyNote = 'no requests are recorded; SVC_HISTORY=1 or svc profile set <name> --history on records them';
  await printResult({ ...resultOf(rows), columns, table, tableFit, emptyNote }, output);
  await context.stdout.end();
};

/** Prints one record with its bodies, if it has them. */
export const runLogShow: RunCommand = async ({ args, flags }, context) => {
  const output = await openResultOutput('document', flags, context);
  const number = parsePositive('svc log show', args[0], 'for the numbers, run: svc log');
  if (args.length !== 1) throw usageFailure('svc log show takes one number', 'for the numbers, run: svc log');
  const records = await readRequestHistory(requestHistoryFile(context.runtime));
  const record = records[number - 1];
  if (!record)
    throw usageFailure(
      `the history has no record ${number}; it has ${records.length}`,
      'for the numbers, run: svc log',
    );
  await printResult({ doc: parseJson(rawText(record)) }, output);
  await context.stdout.end();
};

/** Removes all records, after asking; where svc cannot prompt, `--yes` must say so. */
export const runLogClear: RunCommand = async ({ flags }, context) => {
  const output = await openResultOutput('record', flags, context);
  const all = { maxRecords: 0 };
  const { removed, removed_prompts: prompts } = await pruneHistories(all, all, true, context);
  const typed = prompts > 0 ? ` and prompts (${prompts})` : '';
  const isConfirmed = await confirm(context, `Remove all recorded requests (${removed})${typed}?`, flags);
  const none = { removed: 0, removed_prompts: 0, removed_bytes: 0 };
  await printResult(resultOf(isConfirmed ? await pruneHistories(all, all, false, context) : none), output);
  await context.stdout.end();
};

/** Removes the records beyond an age or a size, and prompts beyond the age. Throws usage without a limit. */
export const runLogPrune: RunCommand = async ({ flags }, context) => {
  const output = await openResultOutput('record', flags, context);
  const [age, size] = [getStringFlag(flags, 'older-than'), getStringFlag(flags, 'max-size')];
  if (age === undefined && size === undefined)
    throw usageFailure('svc log prune needs a limit', 'give --older-than <age> or --max-size <size>');
  const since = age === undefined ? undefined : parseAgeStart('--older-than', age, context.runtime.now());
  const maxBytes = size === undefined ? undefined : parseByteSize('--max-size', size);
  const isDryRun = isFlagOn(flags, 'dry-run');
  const removed = await pruneHistories({ since, maxBytes }, { since }, isDryRun, context);
  await printResult(resultOf(removed), output);
  const { removed: requests, removed_prompts: prompts, removed_bytes: bytes } = removed;
  await context.report.note(
    `${isDryRun ? 'would remove' : 'removed'} ${requests} ${pluralize(requests, 'request')} and ${prompts} ${pluralize(prompts, 'prompt')} (${formatByteSize(bytes)})`,
  );
  await context.stdout.end();
};

// The request history, and the prompts of interactive chats.
async function pruneHistories(
  requests: HistoryLimits,
  prompts: HistoryLimits,
  isDryRun: boolean,
  { runtime }: Context,
) {
  const fromLog = await pruneHistory(requestHistoryFile(runtime), requests, runtime, isDryRun);
  const fromChats = await pruneHistory(promptHistoryFile(runtime), prompts, runtime, isDryRun);
  const removed_bytes = fromLog.bytes + fromChats.bytes;
  return { removed: fromLog.records, removed_prompts: fromChats.records, removed_bytes };
}

/** The value of a flag or argument, infinite if it is not given. Throws usage for anything but a positive integer. */
export function parsePositive(name: string, text: string | undefined, hint: string): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw usageFailure(`${name}: ${JSON.stringify(text)} is not a positive integer`, hint);
}

function recordFields(record: JsonNode): { readonly [name: string]: JsonValue } {
  return Object.fromEntries(
    Array.from(membersOf(record)).flatMap(({ key, value }) =>
      BODY_FIELDS.includes(key) ? [] : [[key, new RawJson(rawText(value))] as const],
    ),
  );
}

// The fields of every record.
const columns = ['n', 'time', 'command', 'url', 'ms', 'status', 'exit_code', 'applied', 'model', 'ids'];
const tableHeadings = ['N', 'TIME', 'COMMAND', 'STATUS', 'EXIT', 'TOKENS', 'MS', 'MODEL', 'TEXT', 'IDS'];
const MAX_TEXT_CHARS = 40;
const tableFit = {
  unbroken: ['TIME', 'COMMAND', 'IDS'],
  optional: ['IDS', 'TEXT', 'MODEL', 'TOKENS', 'MS', 'STATUS', 'EXIT'],
};

function tableRow(number: number, record: JsonNode): string[] {
  const field = (name: string): string => {
    const value = getMember(record, name);
    return !value || kindOf(value) === 'null' ? '-' : kindOf(value) === 'string' ? stringOf(value) : rawText(value);
  };
  const ids = getMember(record, 'ids');
  const idTexts = ids && kindOf(ids) === 'object' ? Array.from(membersOf(ids), ({ value }) => stringOf(value)) : [];
  return [
    String(number),
    (firstStringMember(record, 'time') ?? '').replace(/\.\d+Z$/, 'Z'),
    field('command'),
    field('status'),
    field('exit_code'),
    `${field('prompt_tokens')}/${field('completion_tokens')}`,
    field('ms'),
    field('model'),
    // Of a record that has bodies.
    firstStringMember(itemsAt(getMember(record, 'request'), 'messages').at(-1), 'content')?.slice(0, MAX_TEXT_CHARS) ??
      '-',
    idTexts.join(' ').replace(/\s/g, ' ') || '-',
  ];
}
