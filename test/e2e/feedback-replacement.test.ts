import { describe, expect, it } from 'vitest';
import { type Finished, run } from '../support/process.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';

const body = {
  feedback_id: 'f-1',
  project_id: 'a/b',
  svc_ref: 'svc:///a/b/object/n:v1',
  feedback_type: 'rating',
  payload: {},
};
const kept = { ...body, id: 'f-1' };
const stored = httpAnswer('{"id":"f-1","created_at":"2026-01-01T00:00:00Z","payload":{},"svc_user_id":"u"}');

/** Replaces feedback by the built program; each request gets the next response, `undefined` closes the connection. */
async function replace(
  sent: object,
  responses: readonly (string | undefined)[],
  flags: readonly string[] = [],
): Promise<Finished & { requests: number }> {
  const answers = responses.values();
  const { url, received } = await rawServer((socket) => {
    const answer = answers.next().value;
    if (answer === undefined) socket.destroy();
    else socket.end(answer);
  });
  const env = { SVC_BASE_URL: url, SVC_USERNAME: 'u', SVC_PASSWORD: 'p' };
  const result = await run(['feedback', 'replace', ...flags], { env, stdin: JSON.stringify(sent) });
  return { ...result, requests: received.length };
}

const errorOf = (stderr: string): unknown => JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error;

const unchanged = 'the old record is unchanged: correct the body and run it again';
const mayBeDeleted = 'the old record may be deleted: correct the body and run it again with the same ids';

describe('a server that deletes the old record before its last checks', () => {
  it.each([
    ['422', '422 Unprocessable Entity', { code: 'refused', exit_code: 5, applied: 'no', hint: unchanged }],
    ['400', '400 Bad Request', { code: 'refused', exit_code: 5, applied: 'unknown', hint: mayBeDeleted }],
    ['404', '404 Not Found', { code: 'refused', applied: 'no' }],
    ['403', '403 Forbidden', { code: 'credentials', applied: 'no' }],
    ['429', '429 Too Many Requests', { code: 'rate_limited', applied: 'no' }],
    [
      '500',
      '500 Internal Server Error',
      { code: 'failed', applied: 'unknown', hint: expect.stringMatching(/^the old record may be deleted; /) },
    ],
    ['503 with Retry-After', '503 Service Unavailable', { code: 'failed', exit_code: 6, applied: 'unknown' }],
    [
      '502',
      '502 Bad Gateway',
      {
        code: 'unknown',
        applied: 'unknown',
        message: expect.stringContaining('; the request may have been applied, or only have deleted the old record'),
      },
    ],
    [
      'a lost response',
      undefined,
      { code: 'unknown', applied: 'unknown', hint: expect.stringMatching(/^the old record may be deleted; /) },
    ],
  ])('%s', async (name, status, error) => {
    const headers = name === '503 with Retry-After' ? 'Retry-After: 1\r\n' : '';
    const answer = status && httpAnswer('{"detail":"no"}', status, headers);
    const { stderr } = await replace(kept, [answer], ['--retries', '0', '--error-format', 'json']);
    expect(errorOf(stderr)).toMatchObject(error);
  });

  it('a 400 of another operation was not applied', async () => {
    const { url } = await rawServer((socket) => socket.end(httpAnswer('{"detail":"no"}', '400 Bad Request')));
    const env = { SVC_BASE_URL: url, SVC_USERNAME: 'u', SVC_PASSWORD: 'p' };
    const flags = ['--project-id', 'a/b', '--op-name', 'x', '--error-format', 'json'];
    expect(errorOf((await run(['call', 'start', ...flags], { env })).stderr)).toMatchObject({ applied: 'no' });
  });

  it('the local service checks first', async () => {
    const payload = { text: 'x'.repeat(1024 * 1024) };
    const { stderr } = await run(['feedback', 'replace', '--local', '--error-format', 'json'], {
      stdin: JSON.stringify({ ...kept, payload }),
    });
    expect(errorOf(stderr)).toMatchObject({ status: 400, applied: 'no', hint: unchanged });
  });
});

describe('only a replacement with the id of the old record is safe to retry', () => {
  it.each([
    ['the same id', kept, 2],
    ['another id', { ...body, id: 'f-2' }, 1],
    ['no id', body, 1],
  ])('%s, after a lost response', async (_, sent, requests) => {
    const result = await replace(sent, [undefined, stored]);
    expect([result.requests, result.code]).toEqual([requests, requests === 2 ? 0 : 8]);
  });
});
