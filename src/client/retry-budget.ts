/** What repeats of a process may cost together, so that a service in trouble is not given more of it. */
export interface RetryBudget {
  /** Pays for a repeat; false when there is not enough left. */
  readonly trySpend: () => boolean;
  /** An attempt succeeded: a little comes back. */
  readonly refund: () => void;
}

const MAX_BUDGET_TOKENS = 500;
const RETRY_COST_TOKENS = 5;

/** A full budget: 500, of which a repeat costs 5 and a success brings back 1. */
export function createRetryBudget(): RetryBudget {
  let tokens = MAX_BUDGET_TOKENS;
  return {
    trySpend: () => {
      if (tokens < RETRY_COST_TOKENS) return false;
      tokens -= RETRY_COST_TOKENS;
      return true;
    },
    refund: () => {
      tokens = Math.min(MAX_BUDGET_TOKENS, tokens + 1);
    },
  };
}
