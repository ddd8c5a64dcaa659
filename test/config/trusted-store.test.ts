import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const user = process.geteuid?.() ?? 0;
const store = JSON.stringify({ profiles: { work: { base_url: 'https://svc.test' } } });

function home(): { cwd: string; path: string } {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'config'), { mode: 0o700 });
  return { cwd, path: join(cwd, 'config', 'config.json') };
}

const run = (args: readonly string[], cwd: string, userId = user): Promise<Result> =>
  svc(args, { cwd, runtime: { userId } });

describe('a profile store', () => {
  it.each([
    ['profile', 'list'],
    ['profile', 'set', 'work', '--model', 'm'],
    ['auth', 'status'],
  ])('of another user is exit 13, and unchanged: %s', async (...args) => {
    const { cwd, path } = home();
    writeFileSync(path, store, { mode: 0o600 });
    // Root is trusted, so a test run by root needs a file of somebody else.
    if (user === 0) chownSync(path, 1234, 1234);
    const result = await run(args, cwd, user === 0 ? 0 : user + 1);
    expect(result.code).toBe(13);
    expect(result.stderr).toContain(`${path} belongs to another user`);
    expect(readFileSync(path, 'utf8')).toBe(store);
  });

  it('behind a symlink into a directory others can write is exit 13', async () => {
    const { cwd, path } = home();
    const shared = join(cwd, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o777);
    writeFileSync(join(shared, 'config.json'), store, { mode: 0o600 });
    symlinkSync(join(shared, 'config.json'), path);
    const result = await run(['profile', 'list'], cwd);
    expect(result).toMatchObject({ code: 13, stdout: '' });
    expect(result.stderr).toContain(`is a symlink into ${shared}`);
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
  });

  it('that others can read becomes 0600, with a warning', async () => {
    const { cwd, path } = home();
    writeFileSync(path, store);
    chmodSync(path, 0o644);
    const result = await run(['profile', 'list'], cwd);
    expect(result.code).toBe(0);
    expect(result.stderr).toContain(`${path} was open to other users (0644); its mode is now 0600`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect((await run(['profile', 'list'], cwd)).stderr).toBe('');
  });
});
