import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../src/errors.ts';
import { simulateBatch } from '../support/simulated-batch.ts';
import { fixedLimit, type SimulatedService, simulate, simulatedServices } from '../support/simulated-service.ts';
import type { BenchContext } from './bench-context.ts';
import type { Benchmark } from './comparison.ts';

const [FROM_MS, TO_MS] = [30_000, 60_000];
const MAX = 256;
const MAX_REFUSED = 0.02;
const ROOMY_LINES = 200;
const SHARED_LINES = 2400;
const PROCESSES = 4;

/** Batches that find their concurrency: against curl where a server has room, and four processes against one where it has not. */
export function concurrencyBenchmarks({ url, home, shell, installed }: BenchContext): Benchmark[] {
  const write = (name: string, kind: string, count: number): void => {
    const line = (at: number): string =>
      JSON.stringify({ start: { project_id: 'a/b', op_name: kind, inputs: { question: `Where is parcel ${at}?` } } });
    writeFileSync(join(home, name), Array.from({ length: count }, (_, at) => `${line(at)}\n`).join(''));
  };
  write('late.jsonl', 'late', ROOMY_LINES);
  write('full.jsonl', 'full', SHARED_LINES);
  for (let part = 1; part <= PROCESSES; part += 1) write(`full-${part}.jsonl`, 'full', SHARED_LINES / PROCESSES);
  const entry = (at: number): string =>
    `url = "${url}/call/start"\nheader = "Content-Type: application/json"\ndata = "{\\"start\\":{\\"op_name\\":\\"late\\"}}"\noutput = "answers/${at}.json"\n`;
  writeFileSync(join(home, 'late.curl'), Array.from({ length: ROOMY_LINES }, (_, at) => entry(at)).join('next\n'));
  const svc = (part: string): string => `svc call start --batch ${part}.jsonl -o ${part}.out -q`;
  const parts = Array.from({ length: PROCESSES }, (_, at) => `( ${svc(`full-${at + 1}`)} ) &`).join(' ');
  const curl = shell('curl --parallel', 'mkdir -p answers; exec curl -sS --parallel --parallel-max 50 -K late.curl');
  const late = shell('svc --batch', `rm -f late.out*; ${svc('late')}`);
  const one = shell('one process', `rm -f full*.out*; ${svc('full')}`);
  const four = shell('four processes', `rm -f full*.out*; ${parts} wait`);
  return [
    {
      name: 'concurrency of 200 calls with responses after 500 ms',
      rounds: 3,
      peers: [late, ...installed('curl', curl)],
      aims: [{ peer: late.name, to: curl.name, most: 1.3 }],
    },
    {
      name: 'concurrency of processes that share a service with room for 32',
      rounds: 3,
      peers: [one, four],
      aims: [{ peer: four.name, to: one.name, most: 1.1 }],
    },
  ];
}

/** On a simulated clock, from 30 s to 60 s: the best fixed number of those that are hardly refused, and what a batch finds. */
export async function simulatedConcurrency(): Promise<string[][]> {
  const rows: string[][] = [];
  const failure = new Failure('rate_limited', 'HTTP 429', { status: 429, applied: 'no', effect: 'keyed' });
  for (const { name, create } of simulatedServices) {
    const { limit, done: most } = bestFixed(create);
    const found = await simulateBatch({
      service: create(),
      failure,
      effect: 'keyed',
      max: MAX,
      from: FROM_MS,
      to: TO_MS,
    });
    const { done, refused, requests, failed, unknown, twice } = found;
    const shares = [done / most, refused / Math.max(1, requests)].map((share) => `${(share * 100).toFixed(1)} %`);
    rows.push([name, String(limit), String(most), String(done), ...shares, `${failed}, ${unknown}, ${twice}`]);
  }
  return [['simulated', 'best fixed', 'lines', 'found', 'of the best', 'refused', 'lost, unknown, twice'], ...rows];
}

function bestFixed(create: () => SimulatedService): { readonly limit: number; readonly done: number } {
  let best = { limit: 1, done: 0 };
  // The share of refused requests.
  const measure = (limit: number): number => {
    const [{ done = 0, refused = 0 } = {}] = simulate(create(), [fixedLimit(limit)], FROM_MS, TO_MS);
    const share = refused / Math.max(1, done + refused);
    if (share <= MAX_REFUSED && done > best.done * 1.001) best = { limit, done };
    return share;
  };
  for (let limit = 1; limit <= MAX; limit = Math.ceil(limit * 1.3)) if (measure(limit) > MAX_REFUSED) break;
  for (let width = Math.ceil(best.limit / 4); width >= 1; width = Math.floor(width / 2)) {
    const { limit } = best;
    if (limit > width) measure(limit - width);
    measure(limit + width);
  }
  return best;
}
