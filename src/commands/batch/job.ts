import type { Recipe } from '../../batch/line-draft.ts';
import type { Places } from '../../batch/order.ts';
import type { Pace } from '../../batch/pace.ts';
import type { Results } from '../../batch/results.ts';
import type { Check } from '../../body/check.ts';
import type { Budget } from '../../call/budget.ts';
import type { Context } from '../../cli/context.ts';
import type { Issue } from '../../errors.ts';
import type { Headers, Send } from '../../http/message.ts';
import type { Guards } from './guards.ts';

/** What all lines of a batch are checked with. */
export interface Checks {
  readonly recipe: Recipe;
  /** What to call the file of lines. */
  readonly label: string;
  readonly check: Check;
  readonly warn: (warning: Issue) => Promise<void>;
}

/** What all lines of a batch are sent with. */
export interface Job extends Checks {
  readonly url: URL;
  /** With the credential. */
  readonly headers: Headers;
  readonly send: Send;
  readonly pace: Pace;
  /** Aborted when nothing more is to leave; what is under way goes on. */
  readonly quit: AbortController;
  readonly budget: Budget;
  /** The most repeats of a line. */
  readonly retries: number;
  /** Milliseconds for a line. */
  readonly limit: number | undefined;
  readonly results: Results;
  readonly guards: Guards;
  /** Lines that may have been applied are sent again. */
  readonly isUnknownRepeated: boolean;
  readonly places: Places;
  readonly context: Context;
}
