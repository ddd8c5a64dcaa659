import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { expectComplete, mergeShards, prepareWorkplace, recipe, startDaemon, until } from './recipes.ts';

// Where Debian's packages gridengine-master, gridengine-exec and gridengine-client have the programs and their data.
const PROGRAMS = '/usr/lib/gridengine';
const DATA = '/usr/share/gridengine';

const missing = ['sge_qmaster', 'sge_execd', 'qsub'].filter((name) => !existsSync(join(PROGRAMS, name)));
const reason =
  missing.length > 0 ? `${missing.join(', ')} not installed` : process.getuid?.() && 'sge_execd needs root';
if (reason) process.stderr.write(`skipped: Grid Engine; ${reason}\n`);

it.skipIf(reason)('the Grid Engine recipe is complete, with two tasks stopped in the middle', async () => {
  const workplace = await prepareWorkplace(800, 100);
  const { cwd, seen } = workplace;
  const cluster = await startGridEngine();
  const env = { ...workplace.env, ...cluster };
  writeFileSync(join(cwd, 'job.sh'), recipe('Grid Engine'), { mode: 0o755 });
  const isIdle = (): boolean => gridEngine(['qstat'], env) === '';
  gridEngine(['qsub', join(cwd, 'job.sh')], env, cwd);
  await until(() => seen() > 200);
  for (const pid of workplace.processes().slice(0, 2)) process.kill(pid, 'SIGTERM');
  await until(isIdle);
  const seenAtStop = seen();
  expect(seenAtStop).toBeLessThan(800);
  gridEngine(['qsub', join(cwd, 'job.sh')], env, cwd);
  await until(isIdle);
  await mergeShards(workplace);
  expectComplete(workplace);
  figure(`Grid Engine: 800 lines in 8 tasks, two stopped, ${seenAtStop} lines before the second job: 0 lost, 0 twice`);
});

// Runs a command of Grid Engine and returns what it prints.
function gridEngine(
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd?: string,
): string {
  const { status, stdout, stderr } = spawnSync(join(PROGRAMS, command), args, { cwd, env, encoding: 'utf8' });
  expect(status, stdout + stderr).toBe(0);
  return stdout;
}

// Starts a cluster of this machine on loopback, which ends with the test. Returns the environment in which its commands find it.
async function startGridEngine(): Promise<Record<string, string>> {
  const root = temporaryDirectory();
  const common = join(root, 'default/common');
  const spool = join(root, 'default/spool');
  for (const path of [common, join(spool, 'job_scripts'), join(root, 'execd'), join(root, 'bin')])
    mkdirSync(path, { recursive: true });
  cpSync(join(DATA, 'util'), join(root, 'util'), { recursive: true, dereference: true });
  symlinkSync(PROGRAMS, join(root, 'bin/lx-amd64'));
  const [masterPort, execPort] = await Promise.all([freePort(), freePort()]);
  const env = {
    SGE_ROOT: root,
    SGE_CELL: 'default',
    SGE_QMASTER_PORT: String(masterPort),
    SGE_EXECD_PORT: String(execPort),
    SGE_ND: '1',
    LD_LIBRARY_PATH: PROGRAMS,
  };
  const write = (path: string, lines: readonly string[]): void => writeFileSync(path, `${lines.join('\n')}\n`);
  write(join(common, 'act_qmaster'), ['localhost']);
  write(join(common, 'host_aliases'), [`localhost ${hostname()}`]);
  write(join(common, 'bootstrap'), [
    'admin_user none',
    'default_domain none',
    'ignore_fqdn true',
    'spooling_method classic',
    'spooling_lib libspoolc',
    `spooling_params ${common};${spool}`,
    `binary_path ${join(root, 'bin')}`,
    `qmaster_spool_dir ${spool}`,
    'security_mode none',
    'listener_threads 2',
    'worker_threads 2',
    'scheduler_threads 1',
    'jvm_threads 0',
  ]);
  gridEngine(['spoolinit', 'classic', 'libspoolc', `${common};${spool}`, 'init'], env);
  const configuration = readFileSync(join(DATA, 'default-configuration'), 'utf8')
    .replace(/^execd_spool_dir.*/m, `execd_spool_dir ${join(root, 'execd')}`)
    .replace(/^mailer.*/m, 'mailer /bin/true')
    // A profile would reset PATH.
    .replace(/^login_shells.*/m, 'login_shells none')
    .replace(/^(min_[ug]id).*/gm, '$1 0');
  writeFileSync(join(root, 'configuration'), configuration);
  for (const words of [
    ['configuration', join(root, 'configuration')],
    ['complexes', join(root, 'util/resources/centry')],
    ['usersets', join(root, 'util/resources/usersets')],
    ['managers', 'root'],
  ])
    gridEngine(['spooldefaults', ...words], env);
  startDaemon([join(PROGRAMS, 'sge_qmaster')], env, root);
  await until(() => spawnSync(join(PROGRAMS, 'qconf'), ['-as', 'localhost'], { env }).status === 0);
  startDaemon([join(PROGRAMS, 'sge_execd')], env, root);
  const limits = ['rt', 'cpu', 'fsize', 'data', 'stack', 'core', 'rss', 'vmem'];
  write(join(root, 'queue'), [
    'qname main.q',
    'hostlist localhost',
    'slots 8',
    'qtype BATCH',
    'rerun TRUE',
    'shell /bin/bash',
    'shell_start_mode posix_compliant',
    'tmpdir /tmp',
    'processors UNDEFINED',
    'initial_state default',
    ...['seq_no', 'priority'].map((name) => `${name} 0`),
    ...['suspend_interval', 'min_cpu_interval', 'notify'].map((name) => `${name} 00:05:00`),
    'nsuspend 1',
    ...[
      ...['load_thresholds', 'suspend_thresholds', 'ckpt_list', 'pe_list', 'prolog', 'epilog', 'starter_method'],
      ...['suspend_method', 'resume_method', 'terminate_method', 'owner_list', 'user_lists', 'xuser_lists'],
      ...['subordinate_list', 'complex_values', 'projects', 'xprojects', 'calendar'],
    ].map((name) => `${name} NONE`),
    ...limits.flatMap((name) => [`s_${name} INFINITY`, `h_${name} INFINITY`]),
  ]);
  gridEngine(['qconf', '-Aq', join(root, 'queue')], env);
  const schedule = gridEngine(['qconf', '-ssconf'], env).replace(/^schedule_interval.*/m, 'schedule_interval 0:0:1');
  writeFileSync(join(root, 'schedule'), schedule);
  gridEngine(['qconf', '-Msconf', join(root, 'schedule')], env);
  return env;
}
