import { Buffer } from 'node:buffer';
import type { Context } from '../../cli/context.ts';
import { parseJson } from '../../json/document.ts';
import { assembled, cutAtLists } from '../../trajectories/assembly.ts';
import { measureOf } from '../../trajectories/measure-of.ts';
import { type Measure, measure, unchanged } from '../../trajectories/measured.ts';
import type { Checked } from '../../trajectories/training.ts';
import { refuseOrWarn } from '../verdict.ts';
import { showChecking } from './checking.ts';
import { countsIn, factsOf } from './facts.ts';
import { flowing } from './flowing.ts';
import type { Gathered } from './gather.ts';
import type { Training, TrainingRequest } from './job.ts';

// A body like that of any other operation, which is held while it is sent.
const SHORT = 256 * 1024;

/** What is sent of a job that was gathered, after it was checked, or to be checked while it is sent. Throws Failure `body` where it is wrong. */
export async function prepared(
  { built, trajectories, whole, files }: Gathered,
  request: TrainingRequest,
  context: Context,
): Promise<Omit<Training, 'close'>> {
  const { draft } = built;
  const { strictness, guard, given } = request;
  const { signal, report } = context;
  const check = async (): Promise<void> =>
    refuseOrWarn(draft, given.operation, built.unreadable, strictness, report, trajectories?.checks);
  if (!trajectories) {
    await check();
    const facts = factsOf(measureOf(draft.doc.bytes), draft, countsIn(draft), files);
    return { draft, watch: { begin: () => guard.begin(facts), end: guard.end } };
  }
  const { content, checks } = trajectories;
  if (content.sources.some(({ isOnce }) => isOnce))
    return {
      draft,
      isOnce: true,
      body: flowing({ built, trajectories, whole, files }, request, context),
      watch: { begin: async () => {}, end: guard.end },
    };

  const parts = cutAtLists(draft.doc);
  const again = (): AsyncIterable<Uint8Array> => assembled(parts, content.again);
  const measured = whole?.measure ?? (await firstPass(trajectories, parts, context));
  await check();
  const isOther = content.isSorted || (whole && !draft.doc.bytes.equals(whole.named.bytes));
  const all = isOther ? await measure(again(), () => signal.throwIfAborted()) : measured;
  const facts = factsOf(all, draft, checks, files);
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for (const source of content.sources) await source.refuseChanged();
    yield* unchanged(again(), all, content.sources.map(({ label }) => label).join(' '));
  };
  const watch = { begin: () => guard.begin(facts), end: guard.end };
  if (all.bytes > SHORT) return { draft, body: { length: all.bytes, pieces }, watch };
  return { draft: { ...draft, doc: parseJson(await joined(pieces())) }, watch };
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

function firstPass(checked: Checked, parts: readonly Uint8Array[], context: Context): Promise<Measure> {
  const { content, checks } = checked;
  const { told, end } = showChecking(checked, context);
  const pieces = content.isSorted ? content.first(checks) : assembled(parts, () => content.first(checks));
  return measure(pieces, told).finally(end);
}
