import fc from 'fast-check';
import { expect } from 'vitest';
import { type Fault, faultServer } from '../support/faults.ts';
import { figure } from '../support/figure.ts';
import { cases, success } from './faults.ts';
import { type Called, judge, operations, run } from './run.ts';

/** An operation, and the faults of its attempts: each attempt gets the next one, and all others the last. */
export interface Schedule {
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

export function randomSchedules(count: number, seed: number): Schedule[] {
  return fc.sample(anySchedule, { numRuns: count, seed });
}

/** True if an earlier attempt of a read was applied, and its last attempt is not. */
export function isAppliedBeforeLast({ operation, retries, faults }: Schedule): boolean {
  if (operation.effect !== 'read') return false;
  const attempts = Array.from({ length: retries + 1 }, (_, at) => faults[Math.min(at, faults.length - 1)]);
  const isFinal = (fault: Fault | undefined): boolean => !cases.find((one) => one === fault)?.repeats.includes('read');
  const end = attempts.findIndex(isFinal);
  const made = end === -1 ? attempts : attempts.slice(0, end + 1);
  return !made.at(-1)?.applies && made.some((fault) => fault?.applies);
}

/** Runs schedules, and expects each reported outcome to be what the server did. */
export async function expectNoneMisjudged(schedules: readonly Schedule[]): Promise<void> {
  const queue = schedules.entries();
  const misjudged: string[] = [];
  let attempts = 0;
  const worker = async (): Promise<void> => {
    const server = await faultServer();
    for (const [at, { operation, retries, faults }] of queue) {
      server.follow(faults);
      const slowest = faults.find(({ ends }) => ends === 'never') ?? success;
      try {
        judge(await run(operation, server.url, retries, slowest), server, operation.effect);
      } catch (error) {
        const names = faults.map(({ name }) => name).join(' | ');
        misjudged.push(`${at}: ${operation.name}, --retries ${retries}: ${names}\n${error}`);
      }
      attempts += server.connections();
    }
  };
  await Promise.all(Array.from({ length: BESIDE }, worker));
  figure(`${schedules.length} fault schedules, ${attempts} attempts: ${misjudged.length} misjudged`);
  expect(misjudged).toEqual([]);
}
