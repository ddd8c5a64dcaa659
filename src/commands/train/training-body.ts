import { type LabeledBytes, labeledStdin } from '../../body/command-input.ts';
import type { Context } from '../../context.ts';
import { formatPosition } from '../../json/text-position.ts';
import type { BodyContent } from '../../train/stream/body-content.ts';
import { type CheckedDigest, digestChunks } from '../../train/stream/body-digest.ts';
import { type CheckedContent, checkedBodyContent } from '../../train/stream/checked-content.ts';
import { parseEnvelope } from '../../train/stream/envelope.ts';
import { InvalidTextError } from '../../train/stream/invalid-text-error.ts';
import type { TextSource } from '../../train/stream/text-source.ts';
import type { TrajectoryChecks } from '../../train/stream/trajectory-checks.ts';
import { showCheckProgress } from './check-progress.ts';

/** A whole body of a training job, read for the first time. */
export interface TrainingBody extends CheckedContent<BodyContent> {
  /** The body without its trajectories, for the draft. */
  readonly envelope: LabeledBytes;
  /** The digest of the whole body; undefined for an empty stdin. */
  readonly bodyDigest: CheckedDigest | undefined;
}

/** Reads a whole body for the first time. */
export async function readTrainingBody(source: TextSource, context: Context): Promise<TrainingBody> {
  let hasBytes = false;
  const observedSource: TextSource = {
    ...source,
    readFirst: async function* () {
      for await (const chunk of source.readFirst()) {
        hasBytes ||= chunk.length > 0;
        yield chunk;
      }
    },
  };
  const { content, checks } = checkedBodyContent(observedSource);
  const { onBytes, end } = showCheckProgress(content.sources, context, checks.groupCount);
  const fullDigest = await digestChunks(content.readFirst(checks), onBytes).finally(end);
  if (!hasBytes && source.label === 'stdin') {
    const noChecks = checkedBodyContent(source).checks;
    return { envelope: labeledStdin(Buffer.alloc(0)), content, checks: noChecks, bodyDigest: undefined };
  }
  return { envelope: labeledEnvelope(source.label, content, checks), content, checks, bodyDigest: fullDigest };
}

// The body without its trajectories, once all of it was read.
function labeledEnvelope(label: string, content: BodyContent, checks: TrajectoryChecks): LabeledBytes {
  const { bytes, locationAt } = content.envelope();
  const [structureError] = checks.structureErrors();
  if (structureError) return { label, bytes, issue: structureError };
  try {
    parseEnvelope({ bytes, locationAt });
    return { label, bytes, position: locationAt };
  } catch (error) {
    if (!(error instanceof InvalidTextError)) throw error;
    return { label, bytes, issue: { path: '', at: formatPosition(label, error.location), message: error.message } };
  }
}
