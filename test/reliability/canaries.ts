import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { event, streamHead } from '../support/event-stream.ts';
import { httpAnswer } from '../support/raw-server.ts';

/** In every secret of these tests, at its start and in its middle, and nowhere else in the world. */
const marks = ['Qh7headQh7', 'Zq9canaryZq9'] as const;

/** A secret that a header can carry, with quotes, backslashes and characters of patterns. */
export const ascii = `${marks[0]}"'\\/.*+?^$&{}()|[]%41${marks[1]}"\\`;
/** One with characters beyond ASCII as well. */
export const beyond = `${marks[0]}"'\\/.*$&é€😀\u00ff${marks[1]}ß"\\`;

/** The marks that a text contains: as they are, percent-encoded, or in base64, even twice. */
export function leaksIn(text: string, depth = 2): string[] {
  const found = marks.filter((mark) => text.includes(mark));
  if (found.length > 0 || depth === 0) return found;
  const inner = [...text.matchAll(/[\w+/-]{12,}/g)].flatMap(([run]) =>
    [0, 1, 2, 3].flatMap((at) => leaksIn(Buffer.from(run.slice(at), 'base64').toString('latin1'), depth - 1)),
  );
  return [...new Set(inner)];
}

/** The files under a directory, except those named, that contain a mark. */
export function leakingFiles(directory: string, but: readonly string[]): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !but.includes(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => leaksIn(readFileSync(path, 'latin1')).length > 0);
}

/** What a server does with a request that carries a secret. */
export interface Outcome {
  readonly name: string;
  /** The bytes of the response, given the request. */
  readonly answer: (request: Buffer) => string | Buffer;
  /** The response is a success whose body is the server's own data: stdout has it unchanged. */
  readonly isData?: true;
}

const asciiJson = (text: string): string =>
  JSON.stringify(text).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
const head = (request: Buffer): string => request.toString('latin1', 0, request.indexOf('\r\n\r\n'));
const values = (request: Buffer): string[] =>
  head(request)
    .split('\r\n')
    .slice(1)
    .map((line) => line.slice(line.indexOf(': ') + 2));
const refusal = (body: string, status = '400 Bad Request'): string => httpAnswer(body, status);
const reply = (more: string): string =>
  httpAnswer(`{"id":"i","trace_id":"t","paths":[],"choices":[{"index":0}]${more}}`);
const events = (...data: string[]): string => streamHead + data.map(event).join('');
// The whole request as text, with each value as it was meant and as it arrived.
const all = (request: Buffer): string => `${request}\n${request.toString('latin1')}`;

/** Responses that echo the request, in every form that servers use. */
export const outcomes: readonly Outcome[] = [
  { name: 'success', answer: () => reply('') },
  {
    name: 'success that echoes in its headers',
    answer: (request) =>
      Buffer.from(
        `HTTP/1.1 200 OK\r\nX-Echo: ${values(request).join(' ')}\r\nX-Request-Id: ${values(request).at(-1)}\r\nContent-Length: 25\r\n\r\n{"choices":[{"index":0}]}`,
        'latin1',
      ),
    isData: true,
  },
  {
    name: 'success that echoes where it warns',
    answer: (request) =>
      reply(`,"object":1,"model":{},"x":${JSON.stringify(all(request))},"usage":${JSON.stringify(all(request))}`),
    isData: true,
  },
  {
    name: 'reasoning',
    answer: (request) =>
      httpAnswer(`{"choices":[{"message":{"reasoning":${JSON.stringify(all(request))},"content":"a"}}]}`),
    isData: true,
  },
  {
    name: 'streamed reasoning',
    answer: (request) =>
      events(
        `{"choices":[{"index":0,"delta":{"reasoning":${JSON.stringify(all(request))}}}]}`,
        '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
      ),
    isData: true,
  },
  {
    name: 'an error in a stream',
    answer: (request) => events(`{"error":{"message":${JSON.stringify(all(request))}}}`),
    // If no stream is expected, it is an invalid response, which is printed unchanged.
    isData: true,
  },
  {
    name: '401, an object',
    answer: (request) =>
      refusal(`{"error":{"message":${JSON.stringify(values(request).join('\n'))}}}`, '401 Unauthorized'),
  },
  {
    name: '422, what is wrong',
    answer: (request) => refusal(`{"detail":[{"loc":["body","x"],"msg":${JSON.stringify(all(request))}}]}`, '422 No'),
  },
  {
    name: '422, where it is',
    answer: (request) => refusal(`{"detail":[{"loc":["body",${JSON.stringify(all(request))}],"msg":"m"}]}`, '422 No'),
  },
  { name: '400, plain', answer: (request) => refusal(all(request)) },
  { name: '400, the values only', answer: (request) => refusal(values(request).reverse().join('\n')) },
  { name: '400, escaped', answer: (request) => refusal(JSON.stringify(all(request)).slice(1, -1)) },
  {
    name: '400, escaped in JSON',
    answer: (request) => refusal(`{"detail":${JSON.stringify(JSON.stringify(all(request)))}}`),
  },
  { name: '400, all but ASCII escaped', answer: (request) => refusal(`{${asciiJson(all(request))}:1}`) },
  { name: '400, that in JSON', answer: (request) => refusal(`{"message":${asciiJson(asciiJson(all(request)))}}`) },
  {
    name: '400, slashes escaped',
    answer: (request) => refusal(`{"x":${asciiJson(all(request)).replaceAll('/', '\\/')}}`),
  },
  { name: '400, in base64', answer: (request) => refusal(`{"reason":"${request.toString('base64')}"}`) },
  {
    name: '400, each in base64',
    answer: (request) =>
      refusal(
        [...values(request), request.subarray(request.indexOf('\r\n\r\n') + 4)]
          .map((one) => Buffer.from(one).toString('base64'))
          .reverse()
          .join('\n'),
      ),
  },
  {
    name: '400, in base64 for addresses',
    answer: (request) => refusal(Buffer.from(all(request).slice(1)).toString('base64url')),
  },
  { name: '400, percent-encoded', answer: (request) => refusal(encodeURIComponent(all(request))) },
  { name: '500, escaped', answer: (request) => refusal(`{"x":${JSON.stringify(all(request))}}`, '500 No') },
  { name: '502', answer: (request) => refusal(all(request), '502 No') },
  { name: '429', answer: (request) => refusal(`{"error":${JSON.stringify(all(request))}}`, '429 No') },
  {
    name: '307, as it came',
    answer: (request) =>
      Buffer.from(
        `HTTP/1.1 307 Away\r\nLocation: /${values(request).join(' ')}\r\nContent-Length: 0\r\n\r\n`,
        'latin1',
      ),
  },
  {
    name: '307, percent-encoded',
    answer: (request) =>
      `HTTP/1.1 307 Away\r\nLocation: /?${encodeURIComponent(all(request))}\r\nContent-Length: 0\r\n\r\n`,
  },
  {
    name: 'the words of a status',
    answer: (request) =>
      Buffer.from(`HTTP/1.1 400 ${values(request).join(' ')}\r\nContent-Length: 0\r\n\r\n`, 'latin1'),
  },
  {
    name: '400, cut within the secret',
    answer: (request) => {
      const text = all(request);
      const at = text.indexOf(marks[0]) + marks[0].length;
      return `HTTP/1.1 400 No\r\nContent-Length: 9999\r\n\r\n${text.slice(0, at + 3)}`;
    },
  },
  {
    name: 'an answer that is cut',
    answer: (request) => `HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n${JSON.stringify(all(request))}`,
    isData: true,
  },
  { name: 'an answer that is no answer', answer: (request) => all(request) },
  { name: 'nothing', answer: () => '' },
];
