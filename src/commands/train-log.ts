import type { Run } from '../cli/command.ts';
import { usage } from '../errors.ts';
import { textOf as flagText, isOn } from '../fields/flag.ts';
import { itemsOf, type JsonNode, member, membersOf, stringIn, stringOf, textOf } from '../json/node.ts';
import { type Json, RawJson, writeJson } from '../json/write.ts';
import type { Entry } from '../ledger/entries.ts';
import { ledgerFile, readLedger } from '../ledger/ledger.ts';
import { type Standing, standingOf } from '../ledger/standing.ts';
import { aligned } from '../output/aligned.ts';
import { sizeText } from '../output/size.ts';
import { dataFolder } from '../profiles/folders.ts';

interface Listed {
  readonly entry: Entry;
  readonly standing: Standing;
}

/** Lists the training jobs that were sent from here, the newest last: a table on a terminal, JSON elsewhere. */
export const runTrainLog: Run = async ({ flags }, { runtime, stdout, report }) => {
  const limit = readLimit(flagText(flags, 'limit'));
  const entries = await readLedger(ledgerFile(dataFolder(runtime)));
  const jobs = entries.slice(-limit).map((entry) => ({ entry, standing: standingOf(entry, runtime) }));
  if (isOn(flags, 'json') || !stdout.isTerminal) await stdout.write(`${writeJson(jobs.map(asJson))}\n`);
  else if (jobs.length === 0) await report.note('no training job was sent from here');
  else await stdout.write(aligned([headings, ...jobs.map(asRow)]));
  await stdout.end();
};

function readLimit(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw usage(`--limit cannot be ${JSON.stringify(text)}`, 'write a number from 1 on');
  return Number(text);
}

// Every member as the ledger has it, those of the outcome last.
function asJson({ entry: { start, end }, standing }: Listed): Json {
  const members = [start, end].flatMap((node) => (node ? Array.from(membersOf(node)) : []));
  const known = members.flatMap(({ key, value }) =>
    key === 'entry' ? [] : [[key, new RawJson(textOf(value))] as const],
  );
  return { ...Object.fromEntries(known), outcome: standing };
}

const headings = ['WHEN', 'ID', 'DIGEST', 'SIZE', 'OUTCOME', 'FILES'];

function asRow({ entry: { start, end }, standing }: Listed): string[] {
  const files = Array.from(itemsOf(member(start, 'files') ?? start), stringOf);
  return [
    (stringIn(start, 'started_at') ?? '').replace(/\.\d+Z$/, 'Z'),
    stringIn(end, 'id') ?? '-',
    (stringIn(start, 'digest') ?? '').slice(0, 12),
    sizeOf(member(start, 'bytes')),
    standing,
    // A name may have a line end in it.
    files.join(' ').replace(/\s/g, ' '),
  ];
}

function sizeOf(bytes: JsonNode | undefined): string {
  return bytes ? sizeText(Number(textOf(bytes))) : '-';
}
