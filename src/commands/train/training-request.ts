import type { Strictness } from '../../body/body-check.ts';
import type { BuildOptions } from '../../body/build-body.ts';
import type { CommandInput } from '../../body/command-input.ts';
import type { Draft } from '../../body/draft.ts';
import type { RequestObserver } from '../../client/request-observer.ts';
import type { RequestBody } from '../../http/message.ts';
import type { JobGuard } from './job-guard.ts';

/** What a training job is made of. */
export interface TrainingRequest {
  readonly input: CommandInput;
  readonly buildOptions: BuildOptions;
  readonly strictness: Strictness;
  /** It is shown only: what is shown is complete or nothing, whatever `--no-spool` says. */
  readonly isPreview: boolean;
  /** Asked when all is known of a job that is sent, before it is complete at the service; what it throws ends it. */
  readonly guard: JobGuard;
}

/** A training job that was checked, or that is checked while it is sent. */
export interface PreparedTraining {
  readonly draft: Draft;
  /** The body with its trajectories; absent where the draft is all of it. */
  readonly body?: RequestBody;
  /** The body can be given away once. */
  readonly isSingleUse?: boolean;
  /** To be told when the job leaves, and what became of it. */
  readonly observer: RequestObserver;
  readonly close: () => Promise<void>;
}
