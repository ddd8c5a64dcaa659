import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { startDaemon, until } from './recipes.ts';

/** Why Slurm cannot be started here, or undefined if it can. */
export function noSlurm(): string | undefined {
  const missing = ['munged', 'slurmctld', 'slurmd', 'sbatch', 'srun'].filter(
    (name) => spawnSync('sh', ['-c', `PATH=$PATH:/usr/sbin command -v ${name}`]).status !== 0,
  );
  if (missing.length > 0) return `${missing.join(', ')} of slurm-wlm and munge not installed`;
  return process.getuid?.() === 0 ? undefined : 'slurmd needs root';
}

/**
 * Starts a cluster of one node with 8 CPUs on loopback, with a key of its own and without accounting, cgroups or systemd.
 * It ends with the test. Returns the environment in which Slurm's commands find it.
 */
export async function startSlurm(): Promise<{ readonly SLURM_CONF: string }> {
  const directory = temporaryDirectory();
  const path = (name: string): string => join(directory, name);
  writeFileSync(path('key'), randomBytes(128), { mode: 0o600 });
  for (const name of ['state', 'spool']) mkdirSync(path(name));
  const [controllerPort, nodePort] = await Promise.all([freePort(), freePort()]);
  const config = {
    ClusterName: 'test',
    SlurmctldHost: `${hostname()}(127.0.0.1)`,
    SlurmUser: 'root',
    SlurmdUser: 'root',
    AuthType: 'auth/munge',
    // A requeued job waits until its credential has expired.
    AuthInfo: `socket=${path('munge.sock')},cred_expire=5`,
    CredType: 'cred/munge',
    SlurmctldPort: controllerPort,
    SlurmdPort: nodePort,
    StateSaveLocation: path('state'),
    SlurmdSpoolDir: path('spool'),
    SlurmctldPidFile: path('slurmctld.pid'),
    SlurmdPidFile: path('slurmd.pid'),
    ProctrackType: 'proctrack/linuxproc',
    TaskPlugin: 'task/none',
    SelectType: 'select/cons_tres',
    SelectTypeParameters: 'CR_CPU',
    JobAcctGatherType: 'jobacct_gather/none',
    AccountingStorageType: 'accounting_storage/none',
    SwitchType: 'switch/none',
    MpiDefault: 'none',
    ReturnToService: 2,
    SlurmdParameters: 'config_overrides',
    SchedulerParameters: 'sched_interval=2',
    NodeName: `node1 NodeHostname=${hostname()} NodeAddr=127.0.0.1 CPUs=8`,
    PartitionName: 'main Nodes=ALL Default=YES MaxTime=INFINITE State=UP',
  };
  const lines = Object.entries(config).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(path('slurm.conf'), lines.join(''));
  const env = { SLURM_CONF: path('slurm.conf') };
  const munged = ['munged', '-F', '--force', `--key-file=${path('key')}`, `--socket=${path('munge.sock')}`];
  const mungeFiles = ['pid', 'log', 'seed'].map((name) => `--${name}-file=${path(`munge.${name}`)}`);
  for (const command of [
    [...munged, ...mungeFiles],
    ['slurmctld', '-D', '-i'],
    ['slurmd', '-D', '-N', 'node1'],
  ])
    startDaemon(command, env, directory);
  await until(() => slurm(['sinfo', '-h', '-o', '%T'], env).trim() === 'idle');
  return env;
}

/** Runs a command of Slurm and returns what it prints. */
export function slurm([command = '', ...args]: readonly string[], env: Readonly<Record<string, string>>): string {
  return spawnSync(command, args, { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8' }).stdout;
}
