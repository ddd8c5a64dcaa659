import { describe, expect, it } from 'vitest';
import { inShell, program } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';

// The HTTP parser and jq are WebAssembly, which reserves gigabytes of address space and needs a compiler.
const limits = [
  ['a limit on virtual memory', `ulimit -v 6000000; '${process.execPath}'`],
  ['Node without a compiler', `'${process.execPath}' --jitless`],
] as const;
const answer = httpAnswer('{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}],"model":"m","usage":{}}');

describe.each(limits)('under %s', (_, node) => {
  it.each(['hi', 'hi --jq .id'])('svc chat %s says which part could not start, and what to set', async (flags) => {
    const service = await rawServer((socket) => void socket.end(answer));
    const { code, stderr } = await inShell(`${node} '${program}' chat --base-url ${service.url} ${flags}`);
    // Node 26 reserves less, and so do the last versions of Node 24.
    if (Number.parseInt(process.versions.node, 10) >= 24 && node.startsWith('ulimit') && code === 0)
      return expect(stderr).toBe('');
    expect(stderr).toMatch(
      /(?:the HTTP parser|jq) \(WebAssembly\) could not be loaded: .*\n.*NODE_OPTIONS=--disable-wasm-trap-handler\n$/,
    );
    expect(code).toBe(12);
    expect(Buffer.concat(service.received)).toHaveLength(0);
  });
});

it('under a limit on virtual memory, what svc says to set works', async () => {
  const service = await rawServer((socket) => void socket.end(answer));
  const setting = 'ulimit -v 6000000; export NODE_OPTIONS=--disable-wasm-trap-handler';
  const result = await inShell(`${setting}; svc chat --base-url ${service.url} hi; svc chat hi --local --jq .object`);
  expect(result).toMatchObject({ code: 0, stdout: 'ok\nchat.completion\n' });
});
