import { Refusal } from '../refusal.ts';

/** Takes so many steps from what a piece of work may cost. Throws Refusal 400 when they are used up. */
export type Spend = (steps: number) => void;

/** A budget that everything the work calls shares, so that nothing it repeats can run away; `what` names what is too much. */
export function budgetOf(most: number, what: () => string): Spend {
  let left = most;
  return (steps) => {
    left -= steps;
    if (left < 0) throw new Refusal(400, `${what()} is more than the built-in model makes`);
  };
}
