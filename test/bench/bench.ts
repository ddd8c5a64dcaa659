import { batchContests } from './batch-contests.ts';
import { compared } from './comparison.ts';
import { contests } from './contests.ts';
import { benchServer } from './server.ts';
import { sizes } from './sizes.ts';
import { stageOf } from './stage.ts';
import { comparisonText, sizesText } from './table.ts';
import { trainContests } from './train-contests.ts';

// npm run bench -- [--json] [--rounds=20] [part of a name]
const words = process.argv.slice(2);
const isJson = words.includes('--json');
const rounds = Number(words.find((word) => word.startsWith('--rounds='))?.split('=')[1] ?? 20);
const part = words.find((word) => !word.startsWith('--')) ?? '';
const root = process.cwd();
const server = await benchServer();
const comparisons = [];
const stage = stageOf(root, server.url);
// Those of many requests and of large bodies take minutes, and have to be asked for.
const some = part.startsWith('batch') ? batchContests : part.startsWith('upload') ? trainContests : contests;
for (const contest of some(stage).filter(({ name }) => name.includes(part))) {
  const comparison = await compared(contest, rounds);
  comparisons.push(comparison);
  if (!isJson) process.stdout.write(`${comparisonText(comparison)}\n`);
}
server.close();
const bytes = 'size'.includes(part) ? sizes(root) : undefined;
if (isJson)
  process.stdout.write(
    `${JSON.stringify({ node: process.versions.node, rounds, comparisons, sizes: bytes }, undefined, 2)}\n`,
  );
else if (bytes) process.stdout.write(`${sizesText(bytes)}\n`);
