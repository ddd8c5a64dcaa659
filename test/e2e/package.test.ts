import { execFileSync, spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grownParts, HEADROOM } from '../support/bundle-parts.ts';
import { cleanEnv } from '../support/process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'svc-package-'));
const installed = join(directory, 'node_modules');
const home = join(directory, 'home');
let packed = { filename: '', version: '', size: 0, unpackedSize: 0, files: [{ path: '' }] };

// As an installation without scripts leaves it: the package, and what it depends on, links to what is installed here.
beforeAll(() => {
  mkdirSync(home);
  const args = ['pack', '--ignore-scripts', '--silent', '--json', '--pack-destination', directory];
  [packed] = JSON.parse(
    execFileSync('npm', args, { cwd: root, encoding: 'utf8', env: { ...process.env, HOME: home } }),
  );
  mkdirSync(join(installed, 'svc-cli'), { recursive: true });
  execFileSync('tar', [
    'xzf',
    join(directory, packed.filename),
    '--strip-components=1',
    '-C',
    join(installed, 'svc-cli'),
  ]);
  for (const name of dependenciesOf(join(installed, 'svc-cli'))) {
    mkdirSync(join(installed, name, '..'), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(installed, name));
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function dependenciesOf(path: string): string[] {
  const { dependencies = {}, optionalDependencies = {} }: { [kind: string]: Record<string, string> } = JSON.parse(
    readFileSync(join(path, 'package.json'), 'utf8'),
  );
  return Object.keys({ ...dependencies, ...optionalDependencies });
}

function svc(args: readonly string[]) {
  const program = join(installed, 'svc-cli/bin/svc.js');
  return spawnSync(process.execPath, [program, ...args], {
    cwd: home,
    env: cleanEnv(home),
    encoding: 'utf8',
    input: 'tok-en-1',
  });
}

describe('the package', () => {
  it.each<[string, RegExp]>([
    ['--version', /^svc \d/],
    ['--help', /Operations:/],
    ['help exit-codes', /130/],
    ['chat hi --local --no-stdin', /^You said "hi"/],
    ['chat hi --local --no-stdin --stream --format jsonl', /"delta"/],
    ['call start --project-id a/b --op-name x --local', /trace_id/],
    [`feedback replace -f ${root}test/demo/feedback.json --local`, /"created_at"/],
    [`train -f ${root}test/demo/job.json --local`, /"id"/],
    ['feedback schema --project-id a/b --since 1d --local', /"paths"/],
    ['profile set work --base-url https://svc.test', /^/],
    ['profile list', /work/],
    ['profile show work', /svc\.test/],
    ['profile use work', /^/],
    ['auth login --profile work --base-url https://svc.test --token-stdin', /^/],
    ['auth status', /work/],
    ['auth logout --profile work', /^/],
    ['profile remove work --yes', /^/],
    ['spec chat', /"\$schema"/],
    ['spec --openapi', /"openapi"/],
    ['completion zsh', /#compdef svc/],
    ['__complete chat --temp', /^--temperature\t/m],
    ['doctor --local', /./],
  ])('installed alone does: svc %s', (line, wanted) => {
    const { status, stdout, stderr } = svc(line.split(' '));
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(wanted);
  });

  it('is small: about 916 kB packed, about 2.3 MB installed with what it needs, native code aside', () => {
    expect(packed.size, grownParts()).toBeLessThanOrEqual(838_000 * HEADROOM);
    const others = ['libsql', '@neon-rs/load', 'detect-libc', '@napi-rs/keyring'];
    const bytes = others.map((name) => bytesIn(join(root, 'node_modules', name)));
    expect(
      bytes.reduce((sum, some) => sum + some, packed.unpackedSize),
      grownParts(),
    ).toBeLessThan(2_300_000 * HEADROOM);
  });

  it('has documents without dead links', () => {
    const paths = packed.files.map(({ path }) => path);
    const documents = paths.filter((path) => path.endsWith('.md'));
    expect(documents).toEqual(
      expect.arrayContaining([
        'README.md',
        'SECURITY.md',
        'docs/agents.md',
        'docs/reference/README.md',
        'docs/reference/svc-chat.md',
      ]),
    );
    const dead = documents.flatMap((document) => {
      const text = readFileSync(join(installed, 'svc-cli', document), 'utf8');
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)];
      // Other documents have pictures of charts, which are too large for a package.
      if (document === 'README.md') links.push(...text.matchAll(/(?:src|srcset)="([^"]+)"/g));
      return links
        .map(([, link = '']) => posix.join(dirname(document), link))
        .filter((path) => !paths.includes(path))
        .map((path) => `${document} -> ${path}`);
    });
    expect(dead).toEqual([]);
  });

  it('contains code and documents, and the license of everything bundled', () => {
    const directories = new Set(
      packed.files.map(({ path }) => (path.includes('/') ? path.replace(/\/.*/, '/') : path)),
    );
    expect([...directories].sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin/',
      'completions/',
      'dist/',
      'docs/',
      'package.json',
      'skills/',
    ]);
    expect(packed.files.map(({ path }) => path)).not.toContain('dist/meta.json');
  });
});

describe('what is inside', () => {
  const sbom: Sbom = JSON.parse(readFileSync(join(root, 'dist/sbom.cdx.json'), 'utf8'));
  const libraries = sbom.components.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name} ${version}`);

  it('has the libraries and the Node versions that README names', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const [, names = ''] = /The package bundles ([^.]*?) and smaller libraries/.exec(readme) ?? [];
    const named = names.split(', ');
    expect(named).toHaveLength(6);
    expect(libraries.map((library) => library.replace(/ .*/, ''))).toEqual(expect.arrayContaining(named));
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(readme).toContain(`Node ${engines.node.replace('>=', '')} to `);
  });

  it('is a CycloneDX document', () => {
    const validate = new Ajv2020({ strict: true }).compile(cycloneDx);
    validate(sbom);
    expect(validate.errors).toBe(null);
  });

  it('is the same by the bundler, the SBOM, the notices, the lock file and svc --version --json', () => {
    const { inputs }: { inputs: object } = JSON.parse(readFileSync(join(root, 'dist/meta.json'), 'utf8'));
    const bundled = Object.keys(inputs).flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
    expect(libraries.map((library) => library.replace(/ .*/, ''))).toEqual([...new Set(bundled)].sort());
    expect(libraries).toEqual(
      expect.arrayContaining([expect.stringMatching(/^undici /), expect.stringMatching(/^jq-wasm /)]),
    );
    const notices = readFileSync(join(installed, 'svc-cli/dist/notices.txt'), 'utf8').split(`${'-'.repeat(80)}\n`);
    expect(notices.map((notice) => /^\s*(\S+ \S+) \(/.exec(notice)?.[1])).toEqual(libraries);
    const lock: Lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    const locked = sbom.components.map(({ name }) => lock.packages[`node_modules/${name}`]);
    expect(sbom.components.map(({ version }) => version)).toEqual(locked.map((one) => one?.version));
    expect(
      sbom.components.map(({ hashes: [{ content }] }) => `sha512-${Buffer.from(content, 'hex').toString('base64')}`),
    ).toEqual(locked.map((one) => one?.integrity));
    const { status, stdout } = svc(['--version', '--json']);
    expect(status).toBe(0);
    const { version, node, commit, libraries: printed } = JSON.parse(stdout);
    expect({ version, node }).toEqual({ version: packed.version, node: process.versions.node });
    expect(commit).toMatch(/^[0-9a-f]{40}$/);
    expect(Object.entries(printed).map(([name, of]) => `${name} ${of}`)).toEqual(libraries);
  });

  it.each<[string, object, number, RegExp]>([
    ['a vulnerable library', { undici: vulnerable('undici') }, 1, /^undici <8: high\n {2}A hole https:/],
    ['a vulnerable optional dependency', { libsql: vulnerable('libsql') }, 1, /^libsql /],
    ['a vulnerable tool of developers', { vitest: vulnerable('vitest') }, 0, /^\d\d packages audited, 0 vulnerable/],
  ])('is audited: %s', (_, vulnerabilities, wanted, text) => {
    const { status, stdout } = audit({ vulnerabilities });
    expect([status, stdout]).toEqual([wanted, expect.stringMatching(text)]);
  });

  it('is not audited without a network, which is an error', () => {
    const { status, stderr } = audit({ message: 'request failed', error: {} });
    expect([status, stderr]).toEqual([2, 'npm audit failed: request failed\n']);
  });
});

interface Sbom {
  readonly components: readonly {
    readonly group?: string;
    readonly name: string;
    readonly version: string;
    readonly hashes: readonly [{ readonly content: string }];
  }[];
}

interface Lock {
  readonly packages: { readonly [path: string]: { readonly version: string; readonly integrity: string } };
}

function vulnerable(name: string) {
  return { name, severity: 'high', range: '<8', via: [{ title: 'A hole', url: 'https://example.test/1' }] };
}

function audit(input: object) {
  const program = join(root, 'scripts/audit-bundled.js');
  return spawnSync(process.execPath, [program], { encoding: 'utf8', input: JSON.stringify(input) });
}

// The parts of the CycloneDX 1.6 schema that svc uses, with every rule it has for them.
const text = { type: 'string' };
const component = {
  type: 'object',
  required: ['type', 'name', 'bom-ref', 'version', 'licenses', 'purl'],
  properties: {
    type: { enum: ['application', 'library'] },
    'bom-ref': { type: 'string', minLength: 1 },
    group: text,
    name: text,
    version: text,
    licenses: {
      type: 'array',
      minItems: 1,
      maxItems: 1,
      items: {
        oneOf: [
          { type: 'object', required: ['expression'], properties: { expression: text }, additionalProperties: false },
          {
            type: 'object',
            required: ['license'],
            properties: {
              license: {
                type: 'object',
                required: ['id'],
                properties: { id: { enum: ['Apache-2.0', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense'] } },
                additionalProperties: false,
              },
            },
            additionalProperties: false,
          },
        ],
      },
    },
    purl: { type: 'string', pattern: '^pkg:npm/[^@]+@[^@]+$' },
    hashes: {
      type: 'array',
      items: {
        type: 'object',
        required: ['alg', 'content'],
        properties: { alg: { const: 'SHA-512' }, content: { type: 'string', pattern: '^[0-9a-f]{128}$' } },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
};
const cycloneDx = {
  type: 'object',
  required: ['bomFormat', 'specVersion', 'version', 'metadata', 'components', 'dependencies'],
  properties: {
    $schema: { const: 'http://cyclonedx.org/schema/bom-1.6.schema.json' },
    bomFormat: { const: 'CycloneDX' },
    specVersion: { const: '1.6' },
    version: { type: 'integer', minimum: 1 },
    metadata: { type: 'object', properties: { component }, additionalProperties: false },
    components: { type: 'array', items: component, uniqueItems: true },
    dependencies: {
      type: 'array',
      uniqueItems: true,
      items: {
        type: 'object',
        required: ['ref'],
        properties: { ref: text, dependsOn: { type: 'array', items: text, uniqueItems: true } },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
};

it('a printed stack trace names source files', () => {
  const program = `
    import { main } from ${JSON.stringify(pathToFileURL(join(root, 'dist/main.js')).href)};
    const env = { SVC_CONFIG_DIR: { endsWith: () => false } };
    const { stdin, stdout, stderr } = process;
    const later = () => () => {};
    process.exitCode = await main({ argv: ['profile', 'list'], env, stdin, stdout, stderr, after: later, onSignal: later, now: Date.now });`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toMatch(/must be of type string[\s\S]*\(src\/config\/environment\.ts:\d+\)/);
  expect(stderr).not.toContain('/dist/');
});

function bytesIn(path: string): number {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => lstatSync(join(path, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}
