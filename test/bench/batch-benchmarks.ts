import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext } from './bench-context.ts';
import type { Benchmark } from './comparison.ts';

const CONCURRENCY = 8;

/** Many requests from a file of lines: svc, which checks them and writes a checkpoint, and programs that only store responses. */
export function batchBenchmarks(context: BenchContext): Benchmark[] {
  return [
    batch(context, 'batch of 20,000 calls with immediate responses', {
      lines: 20_000,
      name: 'x',
      aim: 2,
      with: ['curl --parallel'],
    }),
    batch(context, 'batch of 2,000 calls with immediate responses', {
      lines: 2000,
      name: 'x',
      aim: 2,
      with: ['xargs -P curl'],
    }),
    batch(context, 'batch of 2,000 calls with responses after 20 ms', {
      lines: 2000,
      name: 'slow',
      aim: 1.25,
      with: ['curl --parallel'],
    }),
  ];
}

interface Lines {
  readonly lines: number;
  /** The name of the traced operation, which determines how the service responds. */
  readonly name: string;
  /** The most that svc may take, relative to the undici loop. */
  readonly aim: number;
  readonly with: readonly ('curl --parallel' | 'xargs -P curl')[];
}

function batch(context: BenchContext, name: string, { lines, name: operation, aim, with: others }: Lines): Benchmark {
  const { url, home, node, shell, script, installed } = context;
  const call = `${url}/call/start`;
  const prefix = `${operation}-${lines}`;
  const input = join(home, `${prefix}.jsonl`);
  const bodies = Array.from({ length: lines }, (_, at) => bodyOf(operation, at));
  writeFileSync(input, `${bodies.join('\n')}\n`);
  writeFileSync(join(home, `${prefix}.curl`), bodies.map((body, at) => curlEntry(call, body, at)).join('next\n'));
  const options = `--concurrency ${CONCURRENCY} -q`;
  const curls = {
    'curl --parallel': shell(
      'curl --parallel',
      `mkdir -p answers; exec curl -sS --parallel --parallel-max ${CONCURRENCY} -K ${prefix}.curl`,
    ),
    'xargs -P curl': shell(
      'xargs -P curl',
      `rm -f answers.txt; xargs -P ${CONCURRENCY} -d '\\n' -I{} curl -sS -H 'Content-Type: application/json' -d {} ${call} <${prefix}.jsonl >>answers.txt`,
    ),
  };
  const svc = shell('svc --batch', `rm -f out.jsonl*; svc call start --batch ${prefix}.jsonl -o out.jsonl ${options}`);
  return {
    name,
    rounds: 3,
    peers: [
      node('undici loop', script('batch.js'), call, input, join(home, 'loop.txt'), String(CONCURRENCY)),
      svc,
      ...others.flatMap((other) => installed('curl', curls[other])),
    ],
    aims: [{ peer: svc.name, to: 'undici loop', most: aim }, ...others.map((to) => ({ peer: svc.name, to, most: 1 }))],
  };
}

function bodyOf(operation: string, at: number): string {
  const inputs = { question: `Where is my parcel number ${at}?` };
  return JSON.stringify({ start: { project_id: 'a/b', op_name: operation, inputs, attributes: { env: 'ci' } } });
}

function curlEntry(url: string, body: string, at: number): string {
  const data = body.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  return `url = "${url}"\nheader = "Content-Type: application/json"\ndata = "${data}"\noutput = "answers/${at}.json"\n`;
}
