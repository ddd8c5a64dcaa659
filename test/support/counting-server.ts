import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

/** A server that counts its requests. */
export interface CountingServer {
  readonly url: string;
  /** How often each key was requested. */
  readonly counts: ReadonlyMap<string, number>;
  /** The highest number of requests in flight at the same time. */
  readonly most: () => number;
}

/** Handles a request: its body, its key, how often the key was requested, and the response to write. */
export type Answering = (
  body: { readonly text: string; readonly key: string; readonly count: number },
  response: ServerResponse,
  request: IncomingMessage,
) => void;

/** Starts a server on loopback that ends with the test; `keyOf` returns what distinguishes one request from another. */
export async function countingServer(keyOf: (body: string) => string, answer: Answering): Promise<CountingServer> {
  const counts = new Map<string, number>();
  let underway = 0;
  let most = 0;
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    underway += 1;
    most = Math.max(most, underway);
    response.on('close', () => {
      underway -= 1;
    });
    request.on('error', () => {});
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const text = Buffer.concat(pieces).toString();
      const key = keyOf(text);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      answer({ text, key, count }, response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, counts, most: () => most };
}

/** A counting server of chats, by their content, that holds the responses after those to three contents until `release`. */
export async function holdingServer(reply: unknown) {
  const held: (() => void)[] = [];
  let isHeld = true;
  const server = await countingServer(
    (body) => JSON.parse(body).messages[0].content,
    (_, response) => {
      const answer = (): void => answerJson(response, reply);
      // Less than a round, after which a batch tries another number of requests in flight.
      if (isHeld && server.counts.size > 3) held.push(answer);
      else answer();
    },
  );
  const release = (): void => {
    isHeld = false;
    for (const answer of held) answer();
  };
  return { ...server, held: () => held.length, release };
}

/** Responds with JSON. */
export function answerJson(response: ServerResponse, value: unknown, status = 200, headers = {}): void {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}
