import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

it('--open hands the link to the browser in a file of mode 0600, and no secret in its arguments or environment', async () => {
  const cwd = temporaryDirectory();
  const browser = join(cwd, 'browser');
  const script = `#!/bin/sh
{ printf 'argument %s\\n' "$@"; stat -c 'mode %a' "$1"; cat "$1"; env; } >"${cwd}/started.tmp"
mv "${cwd}/started.tmp" "${cwd}/started"
`;
  writeFileSync(browser, script);
  chmodSync(browser, 0o755);
  const secrets = {
    SVC_USERNAME: 'user-name-1',
    SVC_TOKEN: 'tok-en-1',
    SVC_PASSWORD: 'pass-word-1',
    PGPASSWORD: 'pg-word-1',
    pgservicefile: 'pg-word-2',
  };
  const child = start(['serve', '--port', '0', '--open'], {
    cwd,
    env: { ...secrets, BROWSER: browser, KEPT: 'kept-1' },
  });
  const ended = waitForExit(child);
  await expect.poll(() => existsSync(join(cwd, 'started')), { timeout: 30_000 }).toBe(true);
  const text = readFileSync(join(cwd, 'started'), 'utf8');
  const [, url = '', code = ''] = /url=(http:\/\/127\.0\.0\.1:\d+)\/#code=([\w-]{16,})"/.exec(text) ?? [];
  expect(code, text).not.toBe('');
  const [argument = '', ...others] = text.match(/^argument .*$/gm) ?? [];
  expect(others).toEqual([]);
  expect(argument).toMatch(/^argument \/.*\.html$/);
  expect(text).toContain('\nmode 600\n');
  expect(text).toContain('\nKEPT=kept-1\n');
  const withoutFile = text.replace(/<[^>]*>/g, '');
  for (const secret of [code, ...Object.values(secrets)]) expect(withoutFile).not.toContain(secret);
  const login = await fetch(`${url}/page/login`, { method: 'POST', body: code });
  expect(login.status).toBe(200);
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
  expect(existsSync(argument.slice('argument '.length))).toBe(false);
});
