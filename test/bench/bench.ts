import { batchContests } from './batch-contests.ts';
import { type Contest, compared } from './comparison.ts';
import { contests } from './contests.ts';
import { benchServer } from './server.ts';
import { type Prepared, serviceContests } from './service-contests.ts';
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
const stage = stageOf(root, server.url);
const comparisons = [];
for (const { open } of contestsOf().filter(({ name }) => name.includes(part))) {
  const { contest, close } = await open();
  const comparison = await compared(contest, Math.min(rounds, contest.rounds ?? rounds));
  await close();
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

function contestsOf(): readonly Prepared[] {
  const one = contests(stage).map(plain);
  // Their files are written when they are asked for.
  const many = part === '' || part.startsWith('batch') ? batchContests(stage).map(plain) : [];
  const large = part === '' || part.startsWith('upload') ? trainContests(stage).map(plain) : [];
  return [...one, ...many, ...large, ...serviceContests(root, server.url)];
}

function plain(contest: Contest): Prepared {
  return { name: contest.name, open: async () => ({ contest, close: async () => {} }) };
}
