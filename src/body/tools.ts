import type { Inputs } from './inputs.ts';

/** What making a body needs from the world. */
export interface Tools {
  readonly inputs: Inputs;
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
}
