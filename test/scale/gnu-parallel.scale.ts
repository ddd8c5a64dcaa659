import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { figure } from '../support/figure.ts';
import { freePort } from '../support/free-port.ts';
import { inShell } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { expectComplete, prepareWorkplace, recipe, startDaemon, until, type Workplace } from './recipes.ts';

const isMissing = (name: string): boolean =>
  spawnSync('sh', ['-c', `PATH=$PATH:/usr/sbin command -v ${name}`]).status !== 0;
const missing = ['parallel', 'sshd', 'ssh', 'ssh-keygen'].filter(isMissing);
const isRoot = userInfo().uid === 0;
if (missing.includes('parallel')) process.stderr.write('skipped: GNU parallel is not installed\n');
if (missing.length > 0 || !isRoot)
  process.stderr.write(`skipped: GNU parallel over SSH; ${missing.join(', ') || 'root'} is missing\n`);

// Three shards are stopped in the middle, and the script runs again.
async function runInterrupted(
  workplace: Workplace,
  script: string,
  more: Readonly<Record<string, string>>,
): Promise<void> {
  const { cwd, lines, seen } = workplace;
  const env = { ...workplace.env, ...more };
  const first = inShell(script, { cwd, env });
  // Before a shard, which finds its own speed, is near its end.
  await until(() => seen() > lines / 8);
  const seenAtStop = seen();
  for (const pid of workplace.processes().slice(0, 3)) process.kill(pid, 'SIGTERM');
  expect((await first).code).not.toBe(0);
  expect(seen()).toBeLessThan(lines);
  const { code, stderr } = await inShell(script, { cwd, env });
  expect(code, stderr).toBe(0);
  expectComplete(workplace);
  figure(`GNU parallel: ${lines} lines in 8 tasks, three stopped after ${seenAtStop} lines: 0 lost, 0 twice`);
}

it.skipIf(missing.includes('parallel'))(
  'the GNU parallel recipe is complete, with tasks stopped in the middle',
  async () => {
    await runInterrupted(await prepareWorkplace(800, 400), recipe('GNU parallel'), {});
  },
);

it.skipIf(missing.length > 0 || !isRoot)('the recipe over SSH is complete on two machines', async () => {
  const workplace = await prepareWorkplace(800, 400);
  await runInterrupted(workplace, recipe('GNU parallel over SSH'), await startMachines(workplace));
  expect(readFileSync(join(workplace.cwd, 'machines'), 'utf8')).toMatch(/machine-a.*machine-b|machine-b.*machine-a/s);
});

// A private sshd on loopback under two names, with keys of its own. It ends with the test.
async function startMachines({ cwd, env }: Workplace): Promise<Record<string, string>> {
  const directory = temporaryDirectory();
  const path = (name: string): string => join(directory, name);
  for (const name of ['host', 'identity']) spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path(name)]);
  if (!existsSync('/run/sshd')) {
    mkdirSync('/run/sshd', { mode: 0o755 });
    onTestFinished(() => rmdirSync('/run/sshd'));
  }
  const port = await freePort();
  const variables = Object.entries({ ...env, HOME: cwd }).map(([name, value]) => `"${name}=${value}"`);
  const server = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${path('host')}`,
    `AuthorizedKeysFile ${path('identity.pub')}`,
    'PidFile none',
    'UsePAM no',
    'StrictModes no',
    'PermitRootLogin yes',
    'MaxStartups 100',
    `SetEnv ${variables.join(' ')}`,
  ];
  const client = [
    'Host machine-a machine-b',
    'HostName 127.0.0.1',
    `Port ${port}`,
    `IdentityFile ${path('identity')}`,
    'IdentitiesOnly yes',
    'StrictHostKeyChecking no',
    'UserKnownHostsFile /dev/null',
    'LogLevel ERROR',
  ];
  writeFileSync(path('sshd_config'), `${server.join('\n')}\n`);
  writeFileSync(path('ssh_config'), `${client.join('\n')}\n`);
  // The name of each machine that gets a task is noted.
  const ssh = `ssh -F ${path('ssh_config')}`;
  writeFileSync(
    path('ssh'),
    `#!/bin/sh\necho "$@" | grep -o 'machine-[ab]' >> "${join(cwd, 'machines')}"\nexec ${ssh} "$@"\n`,
    { mode: 0o755 },
  );
  startDaemon(['/usr/sbin/sshd', '-D', '-f', path('sshd_config')], {}, directory);
  await until(() => spawnSync('ssh', ['-F', path('ssh_config'), 'machine-a', 'true']).status === 0);
  return { PARALLEL_SSH: path('ssh') };
}
