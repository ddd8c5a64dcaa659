import { hasBodyFlags } from '../../body/body-base.ts';
import type { CommandInput, LabeledBytes } from '../../body/command-input.ts';
import { labeledStdin } from '../../body/command-input.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import type { BodyContent } from '../../train/stream/body-content.ts';
import { type BodyDigest, digestChunks } from '../../train/stream/body-digest.ts';
import { checkedBodyContent } from '../../train/stream/checked-content.ts';
import { parseEnvelope } from '../../train/stream/envelope.ts';
import { InvalidTextError } from '../../train/stream/invalid-text-error.ts';
import type { TextSource } from '../../train/stream/text-source.ts';
import type { TrajectoryChecks } from '../../train/stream/trajectory-checks.ts';
import { showCheckProgress } from './check-progress.ts';

/** A whole body of a training job, read for the first time unless that can be done once only. */
export interface TrainingBody {
  /** What of it is no trajectory, for making a draft of it. */
  readonly envelope: LabeledBytes;
  readonly content: BodyContent;
  readonly checks: TrajectoryChecks;
  /** What all of it measures, if it was read. */
  readonly bodyDigest: BodyDigest | undefined;
}

/** Reads a whole body for the first time. Throws usage where flags would change one that can be read once only. */
export async function readTrainingBody(
  source: TextSource,
  { operation, args, flags }: CommandInput,
  context: Context,
): Promise<TrainingBody> {
  const { content, checks } = checkedBodyContent(source);
  if (source.isSinglePass) {
    if (args.length > 0 || hasBodyFlags(operation, flags))
      throw usageFailure(
        `with --no-spool ${source.label} goes as it is`,
        'leave out --no-spool, or the flags that change it',
      );
    return { envelope: { label: source.label, bytes: Buffer.from('{}') }, content, checks, bodyDigest: undefined };
  }
  const { onBytes, end } = showCheckProgress({ content, checks }, context);
  const fullDigest = await digestChunks(content.readFirst(checks), onBytes).finally(end);
  if (fullDigest.bytes === 0 && source.label === 'stdin')
    return {
      envelope: labeledStdin(Buffer.alloc(0)),
      content,
      checks: checkedBodyContent(source).checks,
      bodyDigest: undefined,
    };
  return { envelope: labeledEnvelope(source.label, content, checks), content, checks, bodyDigest: fullDigest };
}

/** The body without its trajectories, which can be read when all of it has passed. */
export function labeledEnvelope(label: string, content: BodyContent, checks: TrajectoryChecks): LabeledBytes {
  const { bytes, locationAt } = content.envelope();
  const [structureError] = checks.structureErrors();
  if (structureError) return { label, bytes, issue: structureError };
  try {
    parseEnvelope({ bytes, locationAt });
    return { label, bytes, position: locationAt };
  } catch (error) {
    if (!(error instanceof InvalidTextError)) throw error;
    return { label, bytes, issue: { path: '', at: error.locationIn(label), message: error.message } };
  }
}
