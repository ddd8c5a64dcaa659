import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { finished, start } from '../support/process.ts';
import { modelId } from '../support/trajectories.ts';
import { peakOf } from './peak.ts';

/** What became of a large body. */
export interface Uploaded {
  readonly code: number | null;
  readonly stderr: string;
  /** The SHA-256 of what was given and of what arrived, and their bytes. */
  readonly given: Sum;
  readonly arrived: Sum;
  /** MiB. */
  readonly peak: number;
}

interface Sum {
  readonly bytes: number;
  readonly digest: string;
}

/** Runs `svc train` against a server that counts, with pieces piped in, and watches its memory. */
export async function uploaded(args: readonly string[], pieces: Iterable<string>, cwd?: string): Promise<Uploaded> {
  const arrived = newSum();
  const server = createServer((request, response) => {
    request.on('data', arrived.add).on('end', () => response.end(JSON.stringify({ id: modelId })));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const child = start(['train', ...args], {
    env: { SVC_BASE_URL: `http://127.0.0.1:${port}`, SVC_TOKEN: 'tok-en-1' },
    ...(cwd === undefined ? {} : { cwd }),
  });
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, peakOf(child.pid) ?? 0);
  }, 20);
  onTestFinished(() => clearInterval(timer));
  const result = finished(child);
  const given = newSum();
  child.stdin?.on('error', () => {});
  for (const piece of pieces) {
    const bytes = Buffer.from(piece);
    given.add(bytes);
    if (child.stdin?.destroyed) break;
    if (!child.stdin?.write(bytes)) await writable(child.stdin);
  }
  child.stdin?.end();
  const { code, stderr } = await result;
  return { code, stderr, given: given.sum(), arrived: arrived.sum(), peak };
}

function writable(stream: Writable | null): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      stream?.off('drain', settle).off('close', settle);
      resolve();
    };
    stream?.once('drain', settle).once('close', settle);
  });
}

function newSum(): { add: (piece: Uint8Array) => void; sum: () => Sum } {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    add: (piece) => {
      bytes += piece.length;
      hash.update(piece);
    },
    sum: () => ({ bytes, digest: hash.digest('hex') }),
  };
}
