import { RawJson } from '../../json/write-json.ts';
import { factCount, type ReceivedFacts } from '../../operations/received-facts.ts';
import { pluralize } from '../../output/transfer-text.ts';
import type { LineStatus } from '../../reports/batch/line-facts.ts';
import type { BatchOptions, Prices } from '../batch-options.ts';

/** What a response used; undefined for what neither the service nor the prices say. */
export interface Spending {
  readonly tokens: number | undefined;
  readonly cost: number | undefined;
}

/**
 * The limits `--max-total-tokens` and `--max-cost`. Requests in flight count as much as the largest response so far, so that what is
 * used exceeds a limit by one response at most; until a response came, one request is in flight, because nothing is known.
 */
export function createBudget({ maxTotalTokens, maxCost, prices }: BudgetOptions, stop: (reason: string) => void) {
  const isPriced = (prices.prompt ?? prices.completion) !== undefined;
  const remedy = `${isPriced ? '' : 'set --price-prompt and --price-completion, or '}leave out --max-cost`;
  const meters = [
    createMeter('--max-total-tokens', maxTotalTokens, ({ tokens }) => tokens, 'tokens were used', 'usage'),
    createMeter('--max-cost', maxCost, ({ cost }) => cost, 'was spent', isPriced ? 'usage' : 'a cost', remedy),
  ].flatMap((meter) => meter ?? []);
  return {
    /** Whether another request may be sent beside those in flight. */
    hasRoom: (inFlight: number): boolean => inFlight === 0 || meters.every(({ hasRoom }) => hasRoom(inFlight)),
    /**
     * Counts a request that ended; one whose outcome is unknown, or that has nothing to count, counts as the average. Stops when no
     * further one may be sent, also if the first response has no cost: money would be spent without a limit.
     */
    add: (spending: Spending, status: LineStatus): void => {
      const reason = meters.map(({ add }) => add(spending, status)).find((found) => found !== undefined);
      if (reason !== undefined) stop(reason);
    },
    /** Whether a limit was reached. */
    isReached: (): boolean => meters.some(({ isReached }) => isReached()),
    /** The limits that missed responses; `remedy` for those that could not count any. */
    missed: () => meters.flatMap(({ missed }) => missed() ?? []),
  };
}

type BudgetOptions = Pick<BatchOptions, 'maxTotalTokens' | 'maxCost' | 'prices'>;

function createMeter(
  flag: string,
  limit: number | undefined,
  read: (spending: Spending) => number | undefined,
  text: string,
  what: string,
  remedy?: string,
) {
  if (limit === undefined) return undefined;
  let spent = 0;
  let counted = 0;
  let missed = 0;
  let largest = 0;
  return {
    hasRoom: (inFlight: number): boolean => counted + missed > 0 && spent + inFlight * largest < limit,
    add: (spending: Spending, status: LineStatus): string | undefined => {
      const value = read(spending);
      if (value === undefined && status === 'done') missed += 1;
      if (value !== undefined || (counted > 0 && (status === 'done' || status === 'unknown'))) {
        spent += value ?? spent / counted;
        counted += 1;
      }
      largest = Math.max(largest, value ?? 0);
      if (remedy && missed > 0 && counted === 0)
        return `${flag} ${limit} cannot be kept: a response came without ${what}`;
      return spent >= limit ? `${flag} ${limit} was reached: ${Number(spent.toPrecision(12))} ${text}` : undefined;
    },
    isReached: (): boolean => spent >= limit,
    missed: () => {
      const responses = `${missed} ${pluralize(missed, 'response')} without ${what}`;
      if (missed === 0) return undefined;
      if (counted > 0) return { text: `${flag} counted ${responses} as the average` };
      return { text: `${flag} did not count ${responses}`, remedy };
    },
  };
}

/** What a response used, by its facts. */
export function spendingOf(received: ReceivedFacts): Spending {
  const counts = tokenCounts(received);
  const { cost } = received;
  return {
    tokens: counts && counts.prompt + counts.completion,
    cost: cost instanceof RawJson ? Number(cost.text) : undefined,
  };
}

const TOKENS_PER_PRICE = 1_000_000;

/** The facts of a response; its cost is that of the prices where the service reports none. */
export function withPrice(received: ReceivedFacts, { prompt, completion }: Prices): ReceivedFacts {
  const counts = tokenCounts(received);
  if (!counts || received.cost !== undefined || (prompt ?? completion) === undefined) return received;
  const cost = (counts.prompt * (prompt ?? 0) + counts.completion * (completion ?? 0)) / TOKENS_PER_PRICE;
  // Without the digits that only binary fractions have.
  return { ...received, cost: new RawJson(String(Number(cost.toPrecision(12)))) };
}

function tokenCounts(received: ReceivedFacts) {
  const [prompt, completion] = [factCount(received, 'prompt_tokens'), factCount(received, 'completion_tokens')];
  if ((prompt ?? completion) === undefined) return undefined;
  return { prompt: prompt ?? 0, completion: completion ?? 0 };
}
