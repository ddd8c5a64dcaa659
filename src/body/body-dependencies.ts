import type { InputReader } from './input-reader.ts';

/** What making a body needs from the world. */
export interface BodyDependencies {
  readonly inputs: InputReader;
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
}
