import type { Draft } from '../../body/draft.ts';
import type { Destination } from '../../client/destination.ts';
import type { RequestObserver } from '../../client/request-observer.ts';
import type { Context } from '../../context.ts';
import { countTrajectories, createTrainingFacts } from '../../train/history/training-facts.ts';
import { digestBytes } from '../../train/stream/digest-bytes.ts';
import { createJobGuard } from './job-guard.ts';

/** Guards each line of a batch as a training job of its own, in the same job history. */
export function createLineObserver(
  destination: Destination,
  allowsDuplicate: boolean,
  file: string,
  context: Context,
): (draft: Draft) => RequestObserver {
  return (draft) => {
    const { begin, end } = createJobGuard(destination, allowsDuplicate, context);
    return {
      onSend: () => begin(createTrainingFacts(digestBytes(draft.doc.bytes), draft, countTrajectories(draft), [file])),
      onOutcome: end,
    };
  };
}
