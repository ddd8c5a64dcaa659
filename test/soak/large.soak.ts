import { describe, expect, it } from 'vitest';
import { uploaded } from '../reliability/large.ts';
import { figure } from '../support/figure.ts';
import { bodyPieces, modelId, trajectoryText } from '../support/trajectories.ts';

const GIBIBYTE = 1024 ** 3;

// Whole groups one after the other, at least so many bytes.
function* groups(bytes: number): Generator<string> {
  const one = `{"trajectories":[${trajectoryText(1000)},${trajectoryText(1000)}]}\n`;
  for (let length = 0; length < bytes; length += one.length * 4) yield one.repeat(4);
}

describe('bodies far larger than memory', () => {
  it('4 GiB of stdin', async () => {
    const { code, stderr, given, arrived, peak } = await uploaded(['-', '--model-id', modelId], groups(4 * GIBIBYTE));
    figure(`4 GiB of stdin: ${peak.toFixed(0)} MiB`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // Line ends have become commas.
    expect(arrived.bytes - given.bytes).toBe(`{"model_id":"${modelId}","trajectory_groups":[]}`.length - 1);
    expect(peak).toBeLessThan(128);
  });

  it('a single group of 1 GiB', async () => {
    const { code, stderr, given, arrived, peak } = await uploaded(['-f', '-'], bodyPieces(GIBIBYTE, 1000));
    figure(`a group of 1 GiB: ${peak.toFixed(0)} MiB`);
    expect({ code, stderr, arrived }).toEqual({ code: 0, stderr: '', arrived: given });
    expect(peak).toBeLessThan(128);
  });
});
