/** Limits all retries of a process together, so that they do not overload a failing service. */
export interface RetryBudget {
  /** Pays for a retry; false if too little is left. */
  readonly trySpend: () => boolean;
  /** Adds a little after an attempt that succeeded. */
  readonly refund: () => void;
}

const MAX_BUDGET_TOKENS = 500;
const RETRY_COST_TOKENS = 5;

/** A full budget of 500 tokens: a retry costs 5, and a success adds 1. */
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
