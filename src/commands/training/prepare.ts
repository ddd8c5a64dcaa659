import { type BuildOptions, type Built, buildBody } from '../../body/build.ts';
import type { Strictness } from '../../body/check.ts';
import type { Draft } from '../../body/draft.ts';
import type { Given } from '../../body/given.ts';
import { inputsOf } from '../../body/inputs.ts';
import type { Context } from '../../cli/context.ts';
import type { Body } from '../../http/message.ts';
import { assembled, cutAtLists } from '../../trajectories/assembly.ts';

import { type Measure, measure, measureOf, unchanged } from '../../trajectories/measured.ts';
import { keepHeapSmall } from '../../trajectories/small-heap.ts';

import { type Checked, trainingFiles } from '../../trajectories/training.ts';
import type { Watch } from '../send.ts';
import { refuseOrWarn } from '../verdict.ts';
import { showChecking } from './checking.ts';
import { countsIn, factsOf } from './facts.ts';
import { readTrainingFlags, type TrainingFlags } from './flags.ts';
import { flowing } from './flowing.ts';
import type { JobGuard } from './guard.ts';
import { type Sources, sourcesOf } from './sources.ts';
import { readWhole, type Whole } from './whole.ts';

/** What a training job is made of. */
export interface TrainingRequest {
  readonly given: Given;
  readonly build: BuildOptions;
  readonly strictness: Strictness;
  /** It is shown only: what is shown is complete or nothing, whatever `--no-spool` says. */
  readonly isShown: boolean;
  /** Asked when all is known of a job that is sent, before it is complete at the service; what it throws ends it. */
  readonly guard: JobGuard;
}

/** A training job that was checked, or that is checked while it is sent. */
export interface Training {
  readonly draft: Draft;
  /** The body with its trajectories; absent where the draft is all of it. */
  readonly body?: Body;
  /** The body can be given away once. */
  readonly isOnce?: boolean;
  /** To be told when the job leaves, and what became of it. */
  readonly watch: Watch;
  readonly close: () => Promise<void>;
}

/**
 * Makes the body of a training job, in memory for one trajectory. Its files are read twice: now they are checked, counted
 * and hashed, and again when the body is asked for. Under `--no-spool` what can be read once only is checked while it is
 * sent, and the end is withheld until then. Throws Failure: usage, `local` for files, `body`.
 */
export async function prepareTraining(request: TrainingRequest, context: Context): Promise<Training> {
  keepHeapSmall();
  const flags = readTrainingFlags(request.given);
  const sources = sourcesOf(context, flags.isSpooled || request.isShown);
  try {
    const gathered = await gather(request, flags, sources, context);
    return { ...(await prepared(gathered, request, context)), close: sources.close };
  } catch (error) {
    await sources.close();
    throw error;
  }
}

/** A draft without its trajectories, and where they come from, if they are not in it. */
export interface Gathered {
  readonly built: Built;
  readonly trajectories: Checked | undefined;
  /** They come from the body of `-f` or stdin. */
  readonly whole: Whole | undefined;
  /** What was named on the command line, for telling later what was sent. */
  readonly files: readonly string[];
}

async function gather(
  { given, build }: TrainingRequest,
  flags: TrainingFlags,
  sources: Sources,
  context: Context,
): Promise<Gathered> {
  const { runtime, signal, report } = context;
  let whole: Whole | undefined;
  const inputs = {
    ...inputsOf(runtime, signal, report.note),
    whole: async (path?: string) => {
      whole = await readWhole(await sources.open(path), given, context);
      return whole.named;
    },
  };
  const built = await buildBody(given, build, { inputs, now: runtime.now, randomBytes: runtime.randomBytes });
  if (flags.files.length === 0) {
    const from = flags.isTyped ? undefined : whole;
    return { built, trajectories: from, whole: from, files: whole ? [whole.named.label] : [] };
  }
  const files = await sources.openAll(flags.files);
  return { built, trajectories: trainingFiles(files, flags.groupBy), whole: undefined, files: flags.files };
}

async function prepared(
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
  return { draft, body: { length: all.bytes, pieces }, watch };
}

function firstPass(checked: Checked, parts: readonly Uint8Array[], context: Context): Promise<Measure> {
  const { content, checks } = checked;
  const { told, end } = showChecking(checked, context);
  const pieces = content.isSorted ? content.first(checks) : assembled(parts, () => content.first(checks));
  return measure(pieces, told).finally(end);
}
