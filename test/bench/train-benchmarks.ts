import { join } from 'node:path';
import { bodyPieces, modelId, trajectoryText, writePieces } from '../support/trajectories.ts';
import type { BenchContext } from './bench-context.ts';
import type { Benchmark } from './comparison.ts';

const MEGABYTES = 100;

// As engines write them: some 100 kB each.
const TOKENS = 1200;

/** The body of a training job: svc, which checks all of it before sending, and programs that only send it. */
export function trainBenchmarks({ url, home, shell, installed }: BenchContext): Benchmark[] {
  const file = join(home, 'job.json');
  writePieces(file, bodyPieces(MEGABYTES * 1_000_000, TOKENS));
  const line = `{"trajectories":[${trajectoryText(TOKENS)}]}\n`;
  writePieces(join(home, 'groups.jsonl'), Array(Math.ceil((MEGABYTES * 1_000_000) / line.length)).fill(line));
  const job = `${url}/v1/preview/training-jobs`;
  const upload = `curl -sS -X POST -H 'Content-Type: application/json' -H 'Expect:' -T job.json ${job}`;
  return [
    {
      rounds: 3,
      name: `upload of a training job of ${MEGABYTES} MB`,
      peers: [
        shell('curl -T', `exec ${upload}`),
        shell('svc train -f', 'svc train -f job.json --allow-duplicate'),
        shell('svc train groups', `svc train groups.jsonl --model-id ${modelId} --allow-duplicate`),
        ...installed(
          'jq',
          shell('jq -e', 'exec jq -e . job.json >/dev/null'),
          shell('jq -e && curl -T', `jq -e . job.json >/dev/null && ${upload}`),
        ),
      ],
      aims: [
        { peer: 'svc train -f', to: 'curl -T', most: 10 },
        { peer: 'svc train -f', to: 'jq -e && curl -T', most: 1 / 3 },
      ],
    },
    {
      rounds: 3,
      name: `check of a training job of ${MEGABYTES} MB`,
      peers: [
        shell('wc -c', 'exec wc -c <job.json'),
        shell('svc train lint', 'svc train lint -f job.json >/dev/null'),
        ...installed('jq', shell('jq -e', 'exec jq -e . job.json >/dev/null')),
      ],
      aims: [],
    },
  ];
}
