import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { kinds, runKilledBatch } from './batch.ts';
import { attackCheckpoints } from './checkpoint-attacks.ts';

// Each of 200 to 300 runs reads all lines; 1,000 attacks are 2,000 runs.
const LIMIT_MS = 3_600_000;

it.each(Object.entries(kinds))(
  '200 kills in a batch of 10,000 %s: nothing lost, nothing sent twice undeclared',
  async (name, kind) => {
    const outcome = await runKilledBatch(kind, 10_000, 200, Math.random);
    figure(`${name}: ${JSON.stringify(outcome)}`);
    expect(outcome).toMatchObject({ lost: 0, undeclared: 0 });
  },
  LIMIT_MS,
);

it(
  '1,000 attacks on checkpoints: nothing sent twice, no result on a wrong line',
  async () => {
    const outcome = await attackCheckpoints(1000, Math.random);
    figure(`attacks: ${JSON.stringify(outcome)}`);
    expect(outcome).toMatchObject({ sentTwice: 0, onWrongLine: 0, unexpected: 0 });
  },
  LIMIT_MS,
);
