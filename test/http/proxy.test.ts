import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { connectProxy, listening } from '../support/secure-servers.ts';
import { callStart, svc } from '../support/svc.ts';

async function through(proxy: string, base = 'https://svc.test', flags: readonly string[] = []) {
  const env = {
    SVC_USERNAME: 'api',
    SVC_PASSWORD: 'pass-word-1',
    SVC_BASE_URL: base,
    HTTPS_PROXY: proxy,
    HTTP_PROXY: proxy,
  };
  return svc([...callStart, '--retries', '1', '--allow-http', ...flags], { env });
}

describe('a proxy that fails is named as the cause, and nothing is sent', () => {
  it.each<[string, number, string]>([
    ['407 Proxy Authentication Required', 1, 'rejected the user and password in its URL (407)'],
    ['403 Forbidden', 1, 'refused to connect to the service (403 Forbidden)'],
    ['502 Bad Gateway', 2, 'refused to connect to the service (502 Bad Gateway)'],
    ['503', 2, 'refused to connect to the service (503)'],
    ['408 Request Timeout', 2, 'refused to connect to the service (408 Request Timeout)'],
    ['429 Too Many Requests', 2, 'refused to connect to the service (429 Too Many Requests)'],
    ['nonsense', 2, 'failed: the response is not valid HTTP'],
  ])('the response to CONNECT is %s', async (answer, attempts, why) => {
    const proxy = await connectProxy(answer);
    const { code, stderr } = await through(`http://user:pr0xy-pass@127.0.0.1:${proxy.port}`);
    const last = stderr
      .trim()
      .split('\n')
      .find((line) => !line.includes('retrying'));
    expect({ code, last }).toMatchObject({
      code: 7,
      last: expect.stringContaining(
        `svc: could not connect to https://svc.test: the proxy 127.0.0.1:${proxy.port} ${why}`,
      ),
    });
    expect(stderr).not.toContain('pr0xy-pass');
    expect(proxy.seen).toHaveLength(attempts);
    expect(proxy.seen[0]).toMatch(/^CONNECT svc\.test:443 HTTP\/1\.1\r\nHost: svc\.test:443\r\n/);
    expect(proxy.seen[0]).toContain(`Proxy-Authorization: Basic ${btoa('user:pr0xy-pass')}\r\n`);
  });

  it('that requires a user gets none from a URL without one', async () => {
    const { port } = await connectProxy('407 Proxy Authentication Required');
    const { code, stderr } = await through(`http://127.0.0.1:${port}`);
    expect({ code, stderr }).toEqual({
      code: 7,
      stderr: expect.stringContaining(
        '(407)\n  write the user and password into HTTPS_PROXY: http://<user>:<password>@<host>:<port>\n',
      ),
    });
  });

  it.each([
    ['https://svc.test', 'http://127.0.0.1:9', 'the proxy 127.0.0.1:9 failed: connection refused'],
    ['http://svc.test', '127.0.0.1:9', 'the proxy 127.0.0.1:9 failed: connection refused'],
    ['https://svc.test', 'http://proxy.invalid:1', 'the proxy proxy.invalid:1 failed: host not found'],
  ])('%s through %s', async (base, proxy, why) => {
    const { code, stderr } = await through(proxy, base);
    const variable = base.startsWith('https') ? 'HTTPS_PROXY' : 'HTTP_PROXY';
    const hint = `correct or unset ${variable}, or add the host to NO_PROXY; to see the proxy, run: svc doctor`;
    expect({ code, stderr }).toEqual({ code: 7, stderr: expect.stringContaining(`${why}\n  ${hint}\n`) });
  });

  it('an invalid URL is a usage error, and not repeated', async () => {
    for (const proxy of ['socks5://user:pr0xy-pass@p:1', 'http://user:pr0xy-pass@:1']) {
      const { code, stderr } = await through(proxy);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(/^svc: HTTPS_PROXY is not the URL of an http or https proxy\n {2}use a URL like/),
      });
    }
  });
});

it('a proxy for plain http gets its credentials, and its response is the response', async () => {
  const asked: unknown[] = [];
  const proxy = createServer((incoming, response) => {
    asked.push([incoming.url, incoming.headers['proxy-authorization']]);
    incoming.resume();
    response.end('{"id":"1","trace_id":"2"}');
  });
  const { code, stderr } = await through(`http://u:pr0xy-pass@127.0.0.1:${await listening(proxy)}`, 'http://svc.test', [
    '-v',
  ]);
  expect({ code, asked }).toEqual({
    code: 0,
    asked: [['http://svc.test/call/start', `Basic ${btoa('u:pr0xy-pass')}`]],
  });
  expect(stderr).not.toMatch(/pr0xy-pass|Proxy-Auth/i);
});
