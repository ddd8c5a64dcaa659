import { createServer, type ServerResponse } from 'node:http';

/** Chunks of a stream that is read for its rate. */
const CHUNKS = 50_000;

// Milliseconds until a response, by the name in the body.
const delays = { slow: 20, late: 500, full: 100 } as const;
// As many of the last ones run at a time; others are refused.
const ROOM = 32;

/** A service that responds at once; the model of a chat selects the kind of response. */
export interface BenchServer {
  readonly url: string;
  readonly close: () => void;
}

/** Starts it on a free port of this machine. */
export async function benchServer(): Promise<BenchServer> {
  let running = 0;
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/training-jobs')) return void request.resume().on('end', () => answer(response));
    const pieces: Buffer[] = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString();
      const [name, delayMs] = Object.entries(delays).find(([one]) => body.includes(`"${one}"`)) ?? [];
      if (name === 'full' && running >= ROOM) return void response.writeHead(429).end('{}');
      if (name === 'full') running += 1;
      if (delayMs !== undefined)
        return void setTimeout(() => {
          if (name === 'full') running -= 1;
          answer(response, idsIn(body));
        }, delayMs);
      if (!request.url?.endsWith('/chat/completions')) return answer(response, idsIn(body));
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      if (body.includes('"many"')) many(response);
      else one(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

function answer(response: ServerResponse, ids = '"id":"0192d5a0-0000-7000-8000-000000000000"'): void {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(`{${ids}}`);
}

// A response with other ids than were sent is a warning.
function idsIn(body: string): string {
  const { id = 'no id', trace_id = 'no trace' } = JSON.parse(body).start ?? {};
  return `"id":${JSON.stringify(id)},"trace_id":${JSON.stringify(trace_id)}`;
}

function one(response: ServerResponse): void {
  response.write(event({ content: 'hello' }, null));
  setTimeout(() => response.end(`${event({}, 'stop')}data: [DONE]\n\n`), 20);
}

function many(response: ServerResponse): void {
  let left = CHUNKS;
  const more = (): void => {
    while (left > 0) {
      left -= 50;
      if (!response.write(event({ content: 'token ' }, null).repeat(50))) return void response.once('drain', more);
    }
    response.end(`${event({}, 'stop')}data: [DONE]\n\n`);
  };
  more();
}

function event(delta: object, finish: string | null): string {
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
}
