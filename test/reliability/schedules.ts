import fc from 'fast-check';
import { expect } from 'vitest';
import { type Fault, faultServer } from '../support/faults.ts';
import { figure } from '../support/figure.ts';
import { cases, success } from './faults.ts';
import { type Called, judge, operations, run } from './run.ts';

/** An operation, and the faults of its attempts: each attempt gets the next one, and all others the last. */
interface Schedule {
  readonly operation: Called;
  readonly retries: number;
  readonly faults: readonly Fault[];
}

// Concurrent programs: with more of them, silence and slowness would look alike.
const BESIDE = 12;

const anyFault = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...cases) }, fc.constant(success));
const anySchedule: fc.Arbitrary<Schedule> = fc.record({
  operation: fc.constantFrom(...operations),
  retries: fc.nat(3),
  faults: fc.array(anyFault, { minLength: 1, maxLength: 5 }),
});

/** Runs a number of random schedules of a seed, and expects each reported outcome to be what the server did. */
export async function expectNoneMisjudged(count: number, seed: number): Promise<void> {
  const schedules = fc.sample(anySchedule, { numRuns: count, seed });
  const queue = schedules.entries();
  const misjudged: string[] = [];
  let attempts = 0;
  const worker = async (): Promise<void> => {
    const server = await faultServer();
    for (const [at, { operation, retries, faults }] of queue) {
      server.follow(faults);
      const slowest = faults.find(({ ends }) => ends === 'never') ?? success;
      try {
        judge(await run(operation, server.url, retries, slowest), server.applied, operation.effect);
      } catch (error) {
        const names = faults.map(({ name }) => name).join(' | ');
        misjudged.push(`${at}: ${operation.name}, --retries ${retries}: ${names}\n${error}`);
      }
      attempts += server.connections();
    }
  };
  await Promise.all(Array.from({ length: BESIDE }, worker));
  figure(`${count} fault schedules of seed ${seed}, ${attempts} attempts: ${misjudged.length} misjudged`);
  expect(misjudged).toEqual([]);
}
