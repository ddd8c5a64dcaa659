import { batchBenchmarks } from './batch-benchmarks.ts';
import { createBenchContext } from './bench-context.ts';
import { benchmarks } from './benchmarks.ts';
import { type Benchmark, comparePeers } from './comparison.ts';
import { concurrencyBenchmarks, simulatedConcurrency } from './concurrency-benchmarks.ts';
import { benchServer } from './server.ts';
import { type Prepared, serviceBenchmarks } from './service-benchmarks.ts';
import { sizes } from './sizes.ts';
import { aligned, comparisonText, sizesText } from './table.ts';
import { trainBenchmarks } from './train-benchmarks.ts';

// npm run bench -- [--json] [--rounds=20] [part of a name]
const words = process.argv.slice(2);
const isJson = words.includes('--json');
const rounds = Number(words.find((word) => word.startsWith('--rounds='))?.split('=')[1] ?? 20);
const part = words.find((word) => !word.startsWith('--')) ?? '';
const root = process.cwd();
const server = await benchServer();
const context = createBenchContext(root, server.url);
const comparisons = [];
for (const { open } of selectBenchmarks().filter(({ name }) => name.includes(part))) {
  const { benchmark, close } = await open();
  const comparison = await comparePeers(benchmark, Math.min(rounds, benchmark.rounds ?? rounds));
  await close();
  comparisons.push(comparison);
  if (!isJson) process.stdout.write(`${comparisonText(comparison)}\n`);
}
server.close();
const simulated = 'concurrency'.includes(part) ? await simulatedConcurrency() : [];
if (!isJson && simulated.length > 0) process.stdout.write(`\n${aligned(simulated).join('\n')}\n`);
const bytes = 'size'.includes(part) ? sizes(root) : undefined;
if (isJson)
  process.stdout.write(
    `${JSON.stringify({ node: process.versions.node, rounds, comparisons, simulated, sizes: bytes }, undefined, 2)}\n`,
  );
else if (bytes) process.stdout.write(`${sizesText(bytes)}\n`);

function selectBenchmarks(): readonly Prepared[] {
  const one = benchmarks(context).map(plain);
  // Their files are written only if they are selected.
  const many = part === '' || part.startsWith('batch') ? batchBenchmarks(context).map(plain) : [];
  const shared = part === '' || part.startsWith('concurrency') ? concurrencyBenchmarks(context).map(plain) : [];
  const large = part === '' || part.startsWith('upload') ? trainBenchmarks(context).map(plain) : [];
  return [...one, ...many, ...shared, ...large, ...serviceBenchmarks(root, server.url)];
}

function plain(benchmark: Benchmark): Prepared {
  return { name: benchmark.name, open: async () => ({ benchmark, close: async () => {} }) };
}
