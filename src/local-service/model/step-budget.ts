import { HttpError } from '../http-error.ts';

/** Takes so many steps from what a piece of work may cost. Throws Refusal 400 when they are used up. */
export type SpendSteps = (steps: number) => void;

/** A budget that everything the work calls shares, so that nothing it repeats can run away; `what` names what is too much. */
export function createStepBudget(maxSteps: number, describeWork: () => string): SpendSteps {
  let remaining = maxSteps;
  return (steps) => {
    remaining -= steps;
    if (remaining < 0) throw new HttpError(400, `${describeWork()} is more than the built-in model makes`);
  };
}
