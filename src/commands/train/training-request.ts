import type { Strictness } from '../../body/body-check.ts';
import type { BuildOptions } from '../../body/build-body.ts';
import type { CommandInput } from '../../body/command-input.ts';
import type { Draft } from '../../body/draft.ts';
import type { RequestObserver } from '../../client/request-observer.ts';
import type { RequestBody } from '../../http/message.ts';
import type { JobGuard } from './job-guard.ts';

/** The input of a training job. */
export interface TrainingRequest {
  readonly input: CommandInput;
  readonly buildOptions: BuildOptions;
  readonly strictness: Strictness;
  /** The body is printed, not sent: then `--no-spool` has no effect. */
  readonly isPreview: boolean;
  /** The time limit for input that is not a file. */
  readonly timeoutMs: number | undefined;
  /** Called before the body is complete at the service; an error cancels the request. */
  readonly guard: JobGuard;
}

/** A training job that was checked, or is checked while it is sent. */
export interface PreparedTraining {
  readonly draft: Draft;
  /** The body with its trajectories; undefined if the draft is all of it. */
  readonly body?: RequestBody;
  /** The body can be sent only once. */
  readonly isSingleUse?: boolean;
  /** Called before the job is sent, and with its outcome. */
  readonly observer: RequestObserver;
  readonly close: () => Promise<void>;
}
