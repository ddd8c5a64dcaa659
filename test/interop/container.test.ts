import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'svc-container-'));
const layer = join(directory, 'upper');
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ');

// The root of this machine takes the place of the base image: a layer above it, which only these tests see, is the image.
const overlay = `mkdir -p "$1"/upper "$1"/work "$1"/merged &&
  mount -t overlay overlay -o lowerdir=/,upperdir="$1"/upper,workdir="$1"/work "$1"/merged &&
  mount -t proc proc "$1"/merged/proc && mount --bind /dev "$1"/merged/dev`;
const canBuild =
  spawnSync('unshare', [
    ...'--mount --pid --net --fork bash -c'.split(' '),
    `ip link set lo up && ${overlay}`,
    'bash',
    directory,
  ]).status === 0;
if (!canBuild) process.stderr.write('skipped: the container: run as root where an overlay of / can be mounted\n');

function instructions(name: string): string[] {
  return [...dockerfile.matchAll(new RegExp(`^ *${name} (.*)$`, 'gm'))].map(([, text = '']) => text.trim());
}

const environment: Record<string, string> = {
  PATH: process.env.PATH ?? '',
  ...Object.fromEntries(instructions('ENV').flatMap((line) => line.split(/\s+/).map((pair) => pair.split('=')))),
};
const [user = '', group = ''] = instructions('USER')[0]?.split(':') ?? [];
const asUser = ['setpriv', '--reuid', user, '--regid', group, '--clear-groups', '--bounding-set=-all'];

const namespaces = ['--mount', '--pid', '--net', '--fork', '--kill-child'];
const enter = (setup: string): string => `${overlay} && ${setup} m=$1 && shift && exec chroot "$m"/merged "$@"`;

// Runs a command in the image as process 1, with a network of its own, a read-only root, and /data, which is writable.
function container(words: readonly string[]): ChildProcessWithoutNullStreams {
  const setup = `ip link set lo up && mount --bind "$1"/data "$1"/merged/data &&
    mount -o remount,ro,bind "$1"/merged/dev && mount -o remount,ro "$1"/merged &&`;
  const args = [...namespaces, 'bash', '-c', enter(setup), 'bash', directory, ...asUser, ...words];
  const child = spawn('unshare', args, { env: environment });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function finish(child: ChildProcessWithoutNullStreams) {
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => (output.stdout += data));
  child.stderr.on('data', (data) => (output.stderr += data));
  const [code] = await once(child, 'close');
  return { code, ...output };
}

describe.skipIf(!canBuild)('the container', () => {
  beforeAll(async () => {
    chmodSync(directory, 0o755);
    execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory], { cwd: root });
    mkdirSync(join(layer, 'tmp/svc'), { recursive: true });
    chmodSync(join(layer, 'tmp'), 0o1777);
    const archive = execFileSync('sh', ['-c', 'ls svc-cli-*.tgz'], { cwd: directory, encoding: 'utf8' }).trim();
    // COPY package.json svc-cli-*.tgz /tmp/svc/
    copyFileSync(join(root, 'package.json'), join(layer, 'tmp/svc/package.json'));
    copyFileSync(join(directory, archive), join(layer, 'tmp/svc', archive));
    for (const script of instructions('RUN')) {
      const words = ['env', 'npm_config_offline=true', 'npm_config_prefix=/usr/local', 'bash', '-c', script];
      const args = [...namespaces, 'bash', '-c', enter(''), 'bash', directory, ...words];
      execFileSync('unshare', args, { env: { ...environment, HOME: '/root' } });
    }
    // The database, which npm cannot fetch without a network.
    const modules = join(layer, 'usr/local/lib/node_modules/svc-cli/node_modules');
    for (const name of ['libsql', '@neon-rs/load', 'detect-libc', '@libsql']) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      cpSync(join(root, 'node_modules', name), join(modules, name), { recursive: true });
    }
    mkdirSync(join(directory, 'data'));
    execFileSync('chown', [`${user}:${group}`, join(directory, 'data')]);
  });

  it('runs a command as process 1 and as a user without rights, on a read-only root', async () => {
    const script = 'id -u; echo "process $$"; touch /etc/svc || echo read-only; exec svc chat hi --local --no-stdin';
    const { code, stdout, stderr } = await finish(container(['bash', '-c', script]));
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${user}\nprocess 1\nread-only\nYou said`));
  });

  it('serves, is healthy, and ends with 0 at the stop signal', async () => {
    const words: string[][] = [...instructions('ENTRYPOINT'), ...instructions('CMD')].map((text) => JSON.parse(text));
    const server = container(words.flat());
    const ended = finish(server);
    const [, check = '[]'] = /CMD (\[.*\])/.exec(instructions('HEALTHCHECK')[0] ?? '') ?? [];
    const [command = '', ...args]: string[] = JSON.parse(check);
    const isHealthy = async (): Promise<boolean> => {
      const probe = spawn('nsenter', ['--net', '--target', String(server.pid), command, ...args]);
      const [code] = await once(probe, 'close');
      return code === 0;
    };
    while (server.exitCode === null && !(await isHealthy()));
    expect(server.exitCode, JSON.stringify(server.exitCode === null ? '' : await ended)).toBe(null);
    // unshare is the parent of process 1.
    const [pid = ''] = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').split(' ');
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^NSpid:\s+\d+\s+1$/m);
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toMatch(/serve/);
    const [signal] = instructions('STOPSIGNAL');
    process.kill(Number(pid), signal);
    expect(await ended).toMatchObject({ code: 0 });
  });
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));
