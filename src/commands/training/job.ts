import type { BuildOptions } from '../../body/build.ts';
import type { Strictness } from '../../body/check.ts';
import type { Draft } from '../../body/draft.ts';
import type { Given } from '../../body/given.ts';
import type { Body } from '../../http/message.ts';
import type { Watch } from '../send.ts';
import type { JobGuard } from './guard.ts';

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
