import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Send } from '../../src/http/message.ts';
import { recording } from '../support/service.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

/** Logs in with a password against a service that responds with a status. */
async function login(
  status: number,
  args: readonly string[] = [],
  url = 'https://svc.test',
  body = status === 200 ? '{"paths":[]}' : '{"detail":"no"}',
  env: Readonly<Record<string, string>> = {},
) {
  const cwd = temporaryDirectory();
  const respond: Send = async () => ({
    status,
    statusText: '',
    headers: [['Content-Type', 'application/json']],
    body: (async function* () {
      yield Buffer.from(body);
    })(),
  });
  const { send, recorded } = recording(respond);
  const words = ['auth', 'login', '--base-url', url, '--username', 'ada', '--password-stdin', ...args];
  const result: Result = await svc(words, { cwd, stdin: 'pw-1\n', send, env });
  return { ...result, recorded, isStored: existsSync(join(cwd, 'config', 'config.json')) };
}

const project = ['--project-id', 'team/app'];

describe('svc auth login verifies a password', () => {
  it('with one feedback schema of one sample, and says so', async () => {
    const { code, stderr, recorded, isStored } = await login(200, project);
    expect({ code, isStored, requests: recorded.length }).toEqual({ code: 0, isStored: true, requests: 1 });
    expect(stderr).toContain('verified the password of ada with svc feedback schema (project team/app)');
    expect(recorded[0]?.url).toBe('https://svc.test/feedback/payload_schema');
    expect(JSON.parse(String(recorded[0]?.body))).toMatchObject({ project_id: 'team/app', sample_limit: 1 });
    expect(stderr).not.toContain('pw-1');
  });

  it('of the profile, whatever the environment has for other requests', async () => {
    const env = { SVC_USERNAME: 'eve', SVC_PASSWORD: 'pw-2', SVC_TOKEN: 'tok-2', SVC_BASE_URL: 'https://other.test' };
    const { code, recorded } = await login(200, project, 'https://svc.test', undefined, env);
    expect({ code, requests: recorded.length }).toEqual({ code: 0, requests: 1 });
    expect(recorded[0]?.url).toBe('https://svc.test/feedback/payload_schema');
    expect(recorded[0]?.headers).toContainEqual(['Authorization', `Basic ${btoa('ada:pw-1')}`]);
  });

  it.each([401, 403])('and stores nothing that the service rejects with %d', async (status) => {
    const { code, stderr, isStored } = await login(status, project);
    expect({ code, isStored }).toEqual({ code: 4, isStored: false });
    expect(stderr).toContain('nothing was stored');
    expect(stderr).toContain('--no-verify');
  });

  it('unless --no-verify is given', async () => {
    const { code, recorded, isStored } = await login(401, [...project, '--no-verify']);
    expect({ code, isStored, requests: recorded.length }).toEqual({ code: 0, isStored: true, requests: 0 });
  });

  it.each([404, 500, 503])('and stores it with a warning where the service responds with %d', async (status) => {
    const { code, stderr, isStored } = await login(status, project);
    expect({ code, isStored }).toEqual({ code: 0, isStored: true });
    expect(stderr).toContain('the password was not verified');
  });

  it.each(['<html></html>', 'null'])('and stores it with a warning where the response is %s', async (body) => {
    const { code, stderr, isStored } = await login(200, project, 'https://svc.test', body);
    expect({ code, isStored }).toEqual({ code: 0, isStored: true });
    expect(stderr).toContain('the password was not verified');
    expect(stderr).not.toContain('verified the password');
  });

  it('only if a project is known, and never over plain http', async () => {
    const unknown = await login(200);
    expect(unknown).toMatchObject({ code: 0, isStored: true, recorded: [] });
    expect(unknown.stderr).toContain('the password was not verified: no project is known; add --project-id');
    const plain = await login(200, project, 'http://svc.test');
    expect(plain).toMatchObject({ code: 0, isStored: true, recorded: [] });
    expect(plain.stderr).toContain('http://svc.test is plain http');
  });

  it('and says that a token is not verified', async () => {
    const cwd = temporaryDirectory();
    const result = await svc(['auth', 'login', '--base-url', 'https://svc.test', '--token-stdin'], { cwd, stdin: 't' });
    expect(result.code).toBe(0);
    expect(result.stderr).toContain('the token was not verified');
    expect(result.stderr).toMatch(/\/config\.json; next: svc doctor --probe --profile default\n$/);
  });
});
