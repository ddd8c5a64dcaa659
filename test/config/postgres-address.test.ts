import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parsePostgresUrl, readPostgresPassword } from '../../src/config/postgres-address.ts';
import { inShell, run } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

describe('a PostgreSQL URL', () => {
  it.each<[string, object]>([
    ['PostgreSQL://ada@db.example/x', { host: 'db.example', user: 'ada', database: 'x' }],
    ['postgres://ada@db.example:6000/svc', { host: 'db.example', port: 6000, user: 'ada', sslMode: 'verify-full' }],
    ['postgresql://db.example', { user: 'me', database: 'me', port: 5432, sslMode: 'verify-full' }],
    ['postgres://db.example/x?sslmode=require', { database: 'x', sslMode: 'require' }],
    ['postgres://localhost/x', { host: 'localhost', sslMode: 'disable' }],
    ['postgres:///x?host=/run/postgresql', { host: '/run/postgresql', database: 'x', sslMode: 'disable' }],
    ['postgres://a%40b@[::1]:1/x%20y', { user: 'a@b', database: 'x y', port: 1 }],
    ['postgres://ada@[2001:db8::1]/x', { host: '2001:db8::1', label: 'postgres://ada@[2001:db8::1]:5432/x' }],
  ])('%s is accepted', (text, expected) => {
    expect(parsePostgresUrl(text, 'me')).toMatchObject(expected);
  });

  it.each([
    'postgres://ada:s3cret-word@db/x',
    'postgres://ada:s3cret-word@/x',
    'postgres://db/x?user=a&password=s3cret-word',
    'POSTGRES://ada:s3cret-word@127.0.0.1:1/x',
    'postgres:ada:s3cret-word@h/x',
  ])('with a password is exit 2 and not repeated: %s', async (url) => {
    const result = await run(['serve', '--data', url]);
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('PGPASSFILE') });
    expect(result.stderr).not.toContain('s3cret-word');
  });

  it.each(['mysql://ada:s3cret-word@h/x', 'FILE:///tmp/s3cret-word.db'])(
    'of another kind is exit 2 and not repeated: %s',
    async (url) => {
      const result = await run(['serve', '--data', url]);
      expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('--data') });
      expect(result.stdout + result.stderr).not.toContain('s3cret-word');
    },
  );

  it.each([
    [['--data', 'postgres://localhost:1/x'], 12, 'postgres://'],
    [['--data', 'postgres://localhost/x?sslmode=maybe'], 2, 'sslmode'],
    [['--data', 'postgres://['], 2, '--data'],
    [['--data', 'postgres://ada@localhost/100%'], 2, '%25'],
    [['--data', 'postgres://a%ZZ@localhost/x'], 2, '%25'],
  ])('%j is exit %i', async (args, code, text) => {
    const file = join(temporaryDirectory(), 'pgpass');
    writeFileSync(file, '*:*:*:*:pa\\:ss\n');
    chmodSync(file, 0o600);
    const env = { PGPASSFILE: file };
    expect(await run(['serve', '--no-auth', ...args], { env })).toMatchObject({
      code,
      stderr: expect.stringContaining(text),
    });
  });

  it('of an IPv6 address has its password in PGPASSFILE without brackets', async () => {
    const file = join(temporaryDirectory(), 'pgpass');
    writeFileSync(file, '\\:\\:1:1:x:ada:pass\n');
    chmodSync(file, 0o600);
    const address = parsePostgresUrl('postgres://ada@[::1]:1/x', undefined);
    const runtime = { env: { PGPASSFILE: file }, home: '/', userId: process.geteuid?.() };
    expect(await readPostgresPassword(address, runtime, async () => {})).toBe('pass');
  });

  it.skipIf(process.geteuid?.() !== 0)('of a user without a name needs one', async () => {
    const url = 'postgres://localhost:1/x';
    const cwd = temporaryDirectory();
    chmodSync(cwd, 0o777);
    const env = { PGPASSWORD: 'pass' };
    const serveAsNobody = (data: string) => inShell(`asNobody serve --no-auth --data ${data}`, { cwd, env });
    expect(await serveAsNobody(url)).toMatchObject({ code: 2, stderr: expect.stringContaining('PGUSER') });
    expect(await serveAsNobody(url.replace('//', '//ada@'))).toMatchObject({
      code: 12,
      stderr: expect.stringContaining('ada@'),
    });
  });
});
