import { type ChunkBatcher, createChunkBatcher } from './chunk-batcher.ts';
import { InvalidTextError } from './invalid-text-error.ts';
import { readTrajectories } from './read-trajectories.ts';
import type { TextSource } from './text-source.ts';
import type { TrajectoryChecks } from './trajectory-checks.ts';
import type { TextForm, TrajectoryEvent } from './trajectory-event.ts';

/** The bytes of an event that are sent. */
export type ChunkSelector = (event: TrajectoryEvent) => readonly Uint8Array[];

/**
 * Reads a source for the first time, passes every event to the checks, and yields the selected bytes. A syntax error is
 * reported to the checks, and ends the source.
 */
export async function* readCheckedChunks(
  source: TextSource,
  form: TextForm,
  checks: TrajectoryChecks,
  select: ChunkSelector,
): AsyncGenerator<Uint8Array> {
  const { label } = source;
  const checkAndSelect: ChunkSelector = (event) => {
    checks.checkEvent(event, label);
    return select(event);
  };
  try {
    yield* readSelectedChunks(source.readFirst(), form, checkAndSelect, createChunkBatcher('passing'));
  } catch (error) {
    if (!(error instanceof InvalidTextError)) throw error;
    checks.addReadError(error, label, form === 'body' ? '' : 'trajectory_groups');
  }
}

/** Reads a text and yields the selected bytes in batches. Throws as readTrajectories does. */
export async function* readSelectedChunks(
  text: AsyncIterable<Uint8Array>,
  form: TextForm,
  select: ChunkSelector,
  batcher: ChunkBatcher,
): AsyncGenerator<Uint8Array> {
  for await (const events of readTrajectories(text, form)) yield* batcher(selectFromEvents(events, select));
}

function* selectFromEvents(events: Iterable<TrajectoryEvent>, select: ChunkSelector): Generator<Uint8Array> {
  for (const event of events) yield* select(event);
}
