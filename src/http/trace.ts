import { type Headers, header, type Layer } from './message.ts';

/** Tells each request and reply line by line, as `curl -v` does, with the values of secret headers hidden. */
export function withTrace(tell: (line: string) => Promise<void>): Layer {
  return (next) => async (request) => {
    const url = new URL(request.url);
    await tell(`> ${request.method} ${url.pathname}${url.search}`);
    for (const line of shownHeaders([['Host', url.host], ...request.headers])) await tell(`> ${line}`);
    const { length } = request.body;
    await tell(length === undefined ? '> (body of unknown length)' : `> (body of ${length} bytes)`);
    const reply = await next(request);
    await tell(`< ${reply.status} ${reply.statusText}`.trimEnd());
    for (const line of shownHeaders(reply.headers)) await tell(`< ${line}`);
    return reply;
  };
}

/** Headers as lines, the values of those that may carry a secret replaced. */
export function shownHeaders(headers: Headers): string[] {
  return headers.map(([name, value]) => `${name}: ${isSecretHeader(name) ? hidden(value) : value}`);
}

/** True for a header whose name says that its value is a credential. */
export function isSecretHeader(name: string): boolean {
  return /auth|cookie|key|secret|token|password|credential/i.test(name);
}

/** The id a service gave a reply, by the headers in use for it. */
export function requestId(headers: Headers): string | undefined {
  return header(headers, 'x-request-id') ?? header(headers, 'request-id') ?? header(headers, 'x-correlation-id');
}

// The scheme helps to see what kind of credential was sent, and tells nothing about it.
function hidden(value: string): string {
  const scheme = /^(Basic|Bearer) /.exec(value)?.[0] ?? '';
  return `${scheme}[hidden]`;
}
