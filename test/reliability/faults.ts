import type { Fault } from '../support/faults.ts';

/** A fault, and what the program reports about it without a retry. */
export interface Case extends Fault {
  readonly code: number;
  /** May be retried by operations with these effects. */
  readonly repeats: readonly Effect[];
}

export type Effect = 'read' | 'keyed' | 'paid' | 'once';

/** A response that every operation accepts. */
const reply =
  '{"id":"i","trace_id":"t","created_at":"2026-01-01T00:00:00Z","paths":[],"object":"chat.completion","created":1,"model":"m",' +
  '"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}';
const json = 'Content-Type: application/json\r\n';
const whole = (status: string, headers = '', body = reply): string =>
  `HTTP/1.1 ${status}\r\n${json}${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const refusal = (status: string, headers = ''): string => whole(status, headers, '{"detail":"no"}');

/** A request that succeeds. */
export const success: Fault = { name: 'success', at: 'request', applies: true, sends: [whole('200 OK')], ends: 'fin' };

const harmless: readonly Effect[] = ['read', 'keyed'];
const unpaid: readonly Effect[] = ['read', 'keyed', 'paid'];
const all: readonly Effect[] = ['read', 'keyed', 'paid', 'once'];

const lost = (name: string, fault: Pick<Fault, 'at' | 'ends'> & Partial<Fault>): Case[] => [
  { name, code: 8, repeats: harmless, ...fault },
  ...(fault.at === 'request'
    ? [{ name: `${name}, applied`, code: 8, repeats: harmless, ...fault, applies: true } as const]
    : []),
];
const cut = (name: string, text: string, ends: Fault['ends']): Case => ({
  name,
  at: 'request',
  applies: true,
  sends: [text],
  ends,
  code: 11,
  repeats: harmless,
});
const status = (text: string, code: number, repeats: readonly Effect[], headers = '', applies = false): Case => ({
  name: `${text}${headers.trim() && `, ${headers.trim()}`}${applies ? ', applied' : ''}`,
  at: 'request',
  applies,
  sends: [refusal(text, headers)],
  ends: 'fin',
  code,
  repeats,
});

/** Every way in which one exchange can fail on the wire. */
export const cases: readonly Case[] = [
  ...lost('closed as soon as connected', { at: 'connect', ends: 'fin' }),
  ...lost('reset with the first byte', { at: 'first byte', ends: 'reset' }),
  ...lost('closed with the first byte', { at: 'first byte', ends: 'fin' }),
  ...lost('reset after the request', { at: 'request', ends: 'reset' }),
  ...lost('closed after the request', { at: 'request', ends: 'fin' }),
  ...lost('half a status line', { at: 'request', sends: ['HTTP/1.1 20'], ends: 'fin' }),
  ...lost('half a status line, reset', { at: 'request', sends: ['HTTP/1.1 20'], ends: 'reset' }),
  ...lost('half a header', { at: 'request', sends: ['HTTP/1.1 200 OK\r\nContent-Ty'], ends: 'fin' }),
  ...lost('silence after the request', { at: 'request', ends: 'never' }),
  ...lost('silence in the status line', { at: 'request', sends: ['HTTP/1.1 2'], ends: 'never' }),
  ...lost('silence in the headers', { at: 'request', sends: ['HTTP/1.1 200 OK\r\nX-A: '], ends: 'never' }),
  ...lost('silence after the headers', { at: 'request', sends: [whole('200 OK').split('{')[0] ?? ''], ends: 'never' }),
  ...lost('garbage', { at: 'request', sends: ['\x16\x03\x01 what is this\r\n\r\n'], ends: 'fin' }),
  ...lost('a version that is none', { at: 'request', sends: ['HTTP/9.9 200 OK\r\n\r\n'], ends: 'fin' }),
  ...lost('a broken chunk size', {
    at: 'request',
    sends: [`HTTP/1.1 200 OK\r\n${json}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
    ends: 'fin',
  }),
  cut('half the length promised', `HTTP/1.1 200 OK\r\n${json}Content-Length: 999\r\n\r\n${reply}`, 'fin'),
  cut('half the length promised, reset', `HTTP/1.1 200 OK\r\n${json}Content-Length: 999\r\n\r\n${reply}`, 'reset'),
  cut('no last chunk', `HTTP/1.1 200 OK\r\n${json}Transfer-Encoding: chunked\r\n\r\n5\r\n{"id"\r\n`, 'fin'),
  cut('silence in the body', `HTTP/1.1 200 OK\r\n${json}Content-Length: 999\r\n\r\n${reply}`, 'never'),
  // Without a length, only its content shows that a response was cut, so it is printed and not retried.
  { ...cut('no length, reset', `HTTP/1.1 200 OK\r\n${json}\r\n{"id":`, 'reset'), repeats: [] },
  { ...cut('not JSON', whole('200 OK', '', 'hello'), 'fin'), repeats: [] },
  { ...cut('no object', whole('200 OK', '', '[]'), 'fin'), repeats: [] },
  ...['408 Request Timeout', '421 Misdirected Request', '425 Too Early'].map((text) => status(text, 9, unpaid)),
  status('429 Too Many Requests', 9, all),
  status('429 Too Many Requests', 9, all, 'Retry-After: 2\r\n'),
  status('429 Too Many Requests', 9, all, 'retry-after-ms: 700\r\n'),
  status('429 Too Many Requests', 9, [], 'Retry-After: 61\r\n'),
  status('503 Service Unavailable', 9, unpaid, 'Retry-After: 1\r\n'),
  ...[false, true].flatMap((applies) => [
    status('500 Internal Server Error', 6, harmless, '', applies),
    status('501 Not Implemented', 6, [], '', applies),
    status('503 Service Unavailable', 6, harmless, '', applies),
    status('502 Bad Gateway', 8, harmless, '', applies),
    status('504 Gateway Timeout', 8, harmless, '', applies),
    status('520 Unknown', 8, harmless, '', applies),
    status('524 A Timeout Occurred', 8, harmless, '', applies),
  ]),
  status('400 Bad Request', 5, []),
  status('401 Unauthorized', 4, []),
  status('402 Payment Required', 5, []),
  status('404 Not Found', 5, []),
  status('409 Conflict', 5, []),
  status('422 Unprocessable Content', 5, []),
  status('307 Temporary Redirect', 5, [], 'Location: http://127.0.0.1:1/\r\n'),
  { ...status('413 Content Too Large', 5, []), at: 'first byte' },
];
