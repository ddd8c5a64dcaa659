import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Setting, svc, temporaryDirectory } from '../support/svc.ts';

const call = ['call', 'start', '--op-name', 'x', '--dry-run', '-q'];

/** A directory below one that holds a `.svc.json`. */
function below(content: string): string {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, '.svc.json'), content);
  mkdirSync(join(cwd, 'a', 'b'), { recursive: true });
  return join(cwd, 'a', 'b');
}

async function project(cwd: string, setting: Setting = {}): Promise<unknown> {
  const { stdout, code, stderr } = await svc(call, { ...setting, cwd });
  expect(stderr + code).toBe('0');
  return JSON.parse(stdout).start.project_id;
}

describe('a .svc.json', () => {
  it('is found in parent directories and sets project and model', async () => {
    const cwd = below('{"project_id":"repo/one","model":"m-1"}');
    expect(await project(cwd)).toBe('repo/one');
    const chat = await svc(['chat', 'x', '--no-stdin', '--dry-run', '-q'], { cwd });
    expect(JSON.parse(chat.stdout)).toMatchObject({ model: 'm-1' });
  });

  it('is used after flag and environment, and before the profile', async () => {
    const cwd = below('{"project_id":"repo/one"}');
    await svc(['profile', 'set', 'default', '--base-url', 'https://svc.test', '--project-id', 'profile/one'], { cwd });
    expect(await project(cwd)).toBe('repo/one');
    const config = join(cwd, 'config');
    expect(await project(cwd, { env: { SVC_CONFIG_DIR: config, SVC_PROJECT_ID: 'env/one' } })).toBe('env/one');
    expect(await project(cwd, { env: { SVC_CONFIG_DIR: config, SVC_NO_PROJECT_FILE: '1' } })).toBe('profile/one');
  });

  it('is named by svc doctor', async () => {
    const cwd = below('{"project_id":"repo/one"}');
    const { settings } = JSON.parse((await svc(['doctor', '--local', '--json'], { cwd })).stdout);
    expect(settings).toContainEqual({
      name: 'project_id',
      value: 'repo/one',
      source: join(cwd, '..', '..', '.svc.json'),
    });
  });

  it.each(['base_url', 'profile', 'token', 'headers', 'credential_command', 'cacert', 'timeout'])(
    'that sets %s is exit 2, and sets nothing',
    async (key) => {
      const cwd = below(JSON.stringify({ project_id: 'a/b', [key]: 'https://evil.test' }));
      const result = await svc(call, { cwd });
      expect(result).toMatchObject({ code: 2, stdout: '' });
      expect(result.stderr).toContain(`.svc.json cannot set "${key}"`);
      expect(result.stderr).toContain('SVC_NO_PROJECT_FILE=1');
      expect(result.stderr).not.toContain('evil');
    },
  );

  it('may begin with a byte order mark', async () => {
    expect(await project(below('\ufeff{"project_id":"repo/one"}'))).toBe('repo/one');
  });

  it.each([
    ['[1]', 2, 'is not a JSON object'],
    ['{', 2, '.svc.json:1:2 is not valid JSON: unexpected end'],
    ['{\n  "model": }', 2, '.svc.json:2:12 is not valid JSON: expected a value'],
    ['{"model":1}', 2, 'must be a string'],
    [`{"model":"${'x'.repeat(65536)}"}`, 12, 'larger than 64 KiB'],
  ])('that is %.12s is an error', async (content, code, message) => {
    const result = await svc(call, { cwd: below(content) });
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
  });

  it('in a directory that others can write to is ignored', async () => {
    const cwd = below('{"project_id":"evil/one"}');
    chmodSync(join(cwd, '..', '..'), 0o777);
    expect((await svc(call, { cwd })).stdout).not.toContain('evil');
  });

  it('is not read with --exact or for a body without a project', async () => {
    const cwd = below('{');
    expect((await svc([...call, '--exact', '--no-check'], { cwd })).code).toBe(0);
  });
});
