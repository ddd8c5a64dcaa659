import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { serve, start, waitForExit } from '../support/process.ts';
import { bodyPieces } from '../support/trajectories.ts';
import { peakOf } from './peak.ts';

const MEBIBYTE = 1024 * 1024;
// More memory than either program may use.
const BODY_BYTES = 144 * MEBIBYTE;
const MAX_PEAK_MEBIBYTES = 128;

// A trajectory of about 20 KB.
const TOKENS = 240;

describe('a group that is larger than memory', () => {
  it('is accepted by the local service', async () => {
    const { url, child, env } = await serve();
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${env.SVC_TOKEN}` };
    const upload = request(`${url}/v1/preview/training-jobs`, { method: 'POST', headers });
    const status = new Promise((resolve) => void upload.once('response', ({ statusCode }) => resolve(statusCode)));
    await pipeline(Readable.from(bodyPieces(BODY_BYTES, TOKENS)), upload);
    expect(await status).toBe(200);
    const peak = peakOf(child.pid);
    if (process.env.SVC_FIGURES) process.stdout.write(`service: ${peak?.toFixed(0)} MiB\n`);
    expect(peak ?? 0).toBeLessThan(MAX_PEAK_MEBIBYTES);
  });

  it('is checked by svc train lint', async () => {
    const child = start(['train', 'lint', '-f', '-']);
    let peak = 0;
    const end = waitForExit(child);
    if (!child.stdin) throw new Error('there is no stdin');
    const watched = function* (): Generator<string> {
      for (const piece of bodyPieces(BODY_BYTES, TOKENS)) {
        peak = Math.max(peak, peakOf(child.pid) ?? 0);
        yield piece;
      }
    };
    await pipeline(Readable.from(watched()), child.stdin);
    const { code, stdout, stderr } = await end;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      groups: 1,
      rewards: { mean: 0.5, spread: 0 },
      counts: { 'zero-variance': 1 },
    });
    if (process.env.SVC_FIGURES) process.stdout.write(`lint: ${peak.toFixed(0)} MiB\n`);
    expect(peak).toBeLessThan(MAX_PEAK_MEBIBYTES);
  });
});
