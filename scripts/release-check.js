// Everything that a release needs and that needs no network: versions, the date in the changelog, a clean tree, and a
// package that is built, packed, installed and demonstrated. With --destination, writes what is published into a directory.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const { values: options } = parseArgs({ options: { destination: { type: 'string' } } });
const { version } = JSON.parse(read('package.json'));
const directory = mkdtempSync(join(tmpdir(), 'svc release '));
let archive = '';

const steps = {
  versions: () => {
    const { packages } = JSON.parse(read('package-lock.json'));
    const found = {
      'package-lock.json': packages[''].version,
      'src/version.ts': /'([^']+)'/.exec(read('src/version.ts'))?.[1],
      'action.yml': /svc-cli@(\S+)/.exec(read('action.yml'))?.[1],
      Dockerfile: /SVC_VERSION=(\S+)/.exec(read('Dockerfile'))?.[1],
    };
    const tag =
      process.env.GITHUB_REF_TYPE === 'tag' ? { 'the tag': process.env.GITHUB_REF_NAME.replace(/^v/, '') } : {};
    for (const [place, other] of Object.entries({ ...found, ...tag }))
      if (other !== version) throw new Error(`${place} has version ${other}, package.json has ${version}`);
  },
  'the date in CHANGELOG.md': () => {
    const heading = read('CHANGELOG.md')
      .split('\n')
      .find((line) => line.startsWith('## '));
    const date = heading?.match(/^## (\S+) \((\d{4}-\d\d-\d\d)\)$/);
    if (date?.[1] !== version || !isDate(date[2]))
      throw new Error(`the first heading is "${heading}"; write "## ${version} (YYYY-MM-DD)"`);
  },
  'a clean tree': () => {
    const changes = run('git', ['status', '--porcelain']);
    if (changes !== '') throw new Error(`commit or remove these files:\n${changes}`);
  },
  build: () => run('npm', ['run', '--silent', 'build']),
  pack: () => {
    const name = run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', directory]).trim();
    archive = join(directory, name);
  },
  install: () => run('npm', ['install', '--global', '--offline', '--ignore-scripts', '--prefix', directory, archive]),
  'the installed version': () => {
    const installed = JSON.parse(run(join(directory, 'bin/svc'), ['--version', '--json']));
    const commit = run('git', ['rev-parse', 'HEAD']).trim();
    if (installed.version !== version || installed.commit !== commit)
      throw new Error(`it is ${installed.version} of commit ${installed.commit}, not ${version} of ${commit}`);
  },
  'the demo': () => {
    // The optional packages, which have native code, are those of the checkout: npm installs them only where its cache has them.
    const packages = join(directory, 'lib/node_modules/svc-cli/node_modules');
    rmSync(packages, { recursive: true, force: true });
    symlinkSync(resolve('node_modules'), packages);
    const SVC_PROGRAM = join(directory, 'lib/node_modules/svc-cli/bin/svc.js');
    run('bash', ['test/demo/demo.sh'], { ...process.env, SVC_PROGRAM });
  },
};

try {
  for (const [name, step] of Object.entries(steps)) {
    step();
    process.stdout.write(`ok: ${name}\n`);
  }
  if (options.destination) writeRelease(options.destination);
  process.stdout.write(`svc-cli ${version} can be released\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n${error.stderr ?? ''}`);
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function writeRelease(destination) {
  const files = { [`svc-cli-${version}.tgz`]: archive, 'sbom.cdx.json': 'dist/sbom.cdx.json' };
  mkdirSync(destination, { recursive: true });
  const sums = Object.entries(files).map(([name, from]) => {
    copyFileSync(from, join(destination, name));
    return `${createHash('sha256').update(readFileSync(from)).digest('hex')}  ${name}\n`;
  });
  writeFileSync(join(destination, 'SHA256SUMS'), sums.join(''));
}

// Also false for February 30.
function isDate(text) {
  const date = new Date(text);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function read(path) {
  return readFileSync(path, 'utf8');
}

function run(command, args, env = process.env) {
  return execFileSync(command, args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'pipe'] });
}
