import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeDirectory } from '../../src/files/file-replacement.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

describe('a directory', () => {
  it('is created with its parents, by several processes at once, and only once', async () => {
    const path = join(temporaryDirectory(), 'a', 'b', 'c');
    await Promise.all(Array.from({ length: 5 }, () => makeDirectory(path, 0o700)));
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(await makeDirectory(path, 0o700)).toBe(false);
  });

  it('is not created in a file', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    await expect(makeDirectory(file, 0o700)).rejects.toThrow('ENOTDIR');
    await expect(makeDirectory(join(file, 'a'), 0o700)).rejects.toThrow('ENOTDIR');
  });

  it.runIf(existsSync('/proc/self'))('that the system does not create is an error, without a long wait', async () => {
    const call = ['call', 'start', '--local', '--project-id', 'a/b', '--op-name', 'x'];
    const data = await svc(call, { env: { SVC_DATA_DIR: '/proc/none' } });
    expect(data).toMatchObject({ code: 12, stderr: expect.stringMatching(/\/proc\/none.*\n {2}set SVC_DATA_DIR to/) });
    const profile = await svc(['profile', 'set', 'p', '--model', 'm'], { env: { SVC_CONFIG_DIR: '/proc/none' } });
    expect(profile).toMatchObject({
      code: 12,
      stderr: expect.stringMatching(/\/proc\/none.*\n {2}set SVC_CONFIG_DIR to/),
    });
  });
});
