import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { run, serve } from '../support/process.ts';
import { folder } from '../support/svc.ts';

const inputs = `{"a":"${'x'.repeat(100_000)}"}`;
const call = `{"start":{"project_id":"a/b","op_name":"x","started_at":"2026-01-01T00:00:00Z","attributes":{},"inputs":${inputs}}}`;
const job = `{"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05","trajectory_groups":[{"trajectories":[{"reward":1,"logs":[${inputs}]}]}]}`;

/** A directory on a file system of 300 kB, unmounted with the test; undefined where none can be mounted. */
function smallDisk(): string | undefined {
  const path = join(folder(), 'disk');
  mkdirSync(path);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=300k', 'tmpfs', path]).status !== 0) return undefined;
  onTestFinished(() => void spawnSync('umount', ['-l', path]));
  return path;
}

function fill(disk: string): void {
  for (const chunkBytes of [4096, 1]) {
    try {
      for (let at = 0; ; at++) writeFileSync(join(disk, `fill-${chunkBytes}-${at}`), Buffer.alloc(chunkBytes));
    } catch {}
  }
}

describe('a full disk', () => {
  it('is exit 12 of --local and 507 of svc serve, and loses nothing that is stored', async ({ skip }) => {
    const disk = smallDisk();
    if (!disk) return skip('no tmpfs can be mounted here');
    const env = { SVC_DATA_DIR: join(disk, 'data') };
    const args = ['call', 'start', '--local', '--project-id', 'a/b', '--op-name', 'x'];
    expect((await run(args, { env })).code).toBe(0);
    const { url } = await serve(['--no-auth'], { env });
    fill(disk);
    const local = await run(['call', 'start', '--local', '-f', '-'], { env, stdin: call });
    expect(local).toMatchObject({ code: 12, stdout: '', stderr: expect.stringContaining('the disk is full') });
    for (const [path, body] of [
      ['/call/start', call],
      ['/v1/preview/training-jobs', job],
    ] as const) {
      const headers = { 'Content-Type': 'application/json' };
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body });
      expect([response.status, await response.text()]).toEqual([507, expect.stringContaining('full')]);
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });
});
