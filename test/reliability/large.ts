import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Pair } from '../support/certificates.ts';
import { start, waitForExit } from '../support/process.ts';
import { modelId } from '../support/trajectories.ts';
import { peakOf } from './peak.ts';

/** The result of the upload of a large body. */
export interface Uploaded {
  readonly code: number | null;
  readonly stderr: string;
  /** The SHA-256 of the input and of the received body, and their sizes in bytes. */
  readonly given: Sum;
  readonly arrived: Sum;
  /** MiB. */
  readonly peak: number;
}

interface Sum {
  readonly bytes: number;
  readonly digest: string;
}

/** Where an upload goes. */
export interface Receiver {
  readonly cwd?: string;
  /** TLS with this certificate. */
  readonly certificate?: Pair;
  /** Stops reading for this long after every MiB or so. */
  readonly pauseMs?: number;
}

/** Runs `svc train` against a server that counts, with pieces piped in, and watches its memory. */
export async function uploaded(
  args: readonly string[],
  pieces: Iterable<string>,
  { cwd, certificate, pauseMs }: Receiver = {},
): Promise<Uploaded> {
  const arrived = newSum();
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let bytesToPause = 1_000_000;
    for await (const chunk of request) {
      arrived.add(chunk);
      bytesToPause -= chunk.length;
      if (pauseMs === undefined || bytesToPause > 0) continue;
      bytesToPause = 1_000_000;
      await setTimeout(pauseMs);
    }
    response.end(JSON.stringify({ id: modelId }));
  };
  const server = certificate
    ? createSecureServer({ cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) }, receive)
    : createServer(receive);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const child = start(['train', ...args], {
    env: { SVC_BASE_URL: `http${certificate ? 's' : ''}://127.0.0.1:${port}`, SVC_TOKEN: 'tok-en-1' },
    ...(cwd === undefined ? {} : { cwd }),
  });
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, peakOf(child.pid) ?? 0);
  }, 20);
  onTestFinished(() => clearInterval(timer));
  const result = waitForExit(child);
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
