import { type BuildOptions, type Built, buildBody } from '../../body/build.ts';
import type { Strictness } from '../../body/check.ts';
import type { Draft } from '../../body/draft.ts';
import type { Given } from '../../body/given.ts';
import { inputsOf } from '../../body/inputs.ts';
import type { Context } from '../../cli/context.ts';
import type { Body } from '../../http/message.ts';
import { assembled, cutAtLists } from '../../trajectories/assembly.ts';
import { type Measure, measure, unchanged } from '../../trajectories/measured.ts';
import { keepHeapSmall } from '../../trajectories/small-heap.ts';
import { type Checked, trainingFiles } from '../../trajectories/training.ts';
import { refuseOrWarn } from '../verdict.ts';
import { showChecking } from './checking.ts';
import { readTrainingFlags, type TrainingFlags } from './flags.ts';
import { flowing } from './flowing.ts';
import { type Sources, sourcesOf } from './sources.ts';
import { readWhole, type Whole } from './whole.ts';

/** What a training job is, before it is given away. */
export interface TrainingFacts extends Measure {
  readonly groups: number;
  readonly trajectories: number;
  /** What messages call the sources of it. */
  readonly files: readonly string[];
}

/** What a training job is made of. */
export interface TrainingRequest {
  readonly given: Given;
  readonly build: BuildOptions;
  readonly strictness: Strictness;
  /** It is shown only: what is shown is complete or nothing, whatever `--no-spool` says. */
  readonly isShown: boolean;
  /** Awaited when all is known of a job that is sent, before it is complete at the service; what it throws ends it. */
  readonly guard: (facts: TrainingFacts) => Promise<void>;
}

/** A training job that was checked, or that is checked while it is sent. */
export interface Training {
  readonly draft: Draft;
  /** The body with its trajectories; absent where the draft is all of it. */
  readonly body?: Body;
  /** The body can be given away once. */
  readonly isOnce?: boolean;
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
    return { built, trajectories: from, whole: from };
  }
  const files = await sources.openAll(flags.files);
  return { built, trajectories: trainingFiles(files, flags.groupBy), whole: undefined };
}

async function prepared(
  { built, trajectories, whole }: Gathered,
  request: TrainingRequest,
  context: Context,
): Promise<Omit<Training, 'close'>> {
  const { draft } = built;
  const { strictness, guard, given, isShown } = request;
  const { signal, report } = context;
  const check = async (): Promise<void> =>
    refuseOrWarn(draft, given.operation, built.unreadable, strictness, report, trajectories?.checks);
  if (!trajectories) {
    await check();
    return { draft };
  }
  const { content, checks } = trajectories;
  if (content.sources.some(({ isOnce }) => isOnce))
    return { draft, isOnce: true, body: flowing({ built, trajectories, whole }, request, context) };

  const parts = cutAtLists(draft.doc);
  const again = (): AsyncIterable<Uint8Array> => assembled(parts, content.again);
  const measured = whole?.measure ?? (await firstPass(trajectories, parts, context));
  await check();
  const isOther = content.isSorted || (whole && !draft.doc.bytes.equals(whole.named.bytes));
  const facts = isOther ? await measure(again(), () => signal.throwIfAborted()) : measured;
  const files = content.sources.map(({ label }) => label);
  if (!isShown) await guard({ ...facts, groups: checks.groups(), trajectories: checks.trajectories(), files });
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for (const source of content.sources) await source.refuseChanged();
    yield* unchanged(again(), facts, files.join(' '));
  };
  return { draft, body: { length: facts.bytes, pieces } };
}

function firstPass(checked: Checked, parts: readonly Uint8Array[], context: Context): Promise<Measure> {
  const { content, checks } = checked;
  const { told, end } = showChecking(checked, context);
  const pieces = content.isSorted ? content.first(checks) : assembled(parts, () => content.first(checks));
  return measure(pieces, told).finally(end);
}
