import { createServer, type ServerResponse } from 'node:http';

/** Chunks of a stream that is read for its rate. */
const CHUNKS = 50_000;

// Milliseconds until a slow response.
const SLOW = 20;

/** A service that responds at once; the model of a chat selects the kind of response. */
export interface BenchServer {
  readonly url: string;
  readonly close: () => void;
}

/** Starts it on a free port of this machine. */
export async function benchServer(): Promise<BenchServer> {
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/training-jobs')) return void request.resume().on('end', () => answer(response));
    const pieces: Buffer[] = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString();
      if (body.includes('"slow"')) return void setTimeout(() => answer(response, idsIn(body)), SLOW);
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
