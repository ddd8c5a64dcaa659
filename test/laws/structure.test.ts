import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { version } from '../../src/version.ts';

const root = new URL('../../src/', import.meta.url).pathname;
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));

// Which folder may import from which others, besides itself. '' is src itself: main, runtime, errors, version.
const base = ['errors', 'runtime', 'version'];
const allowed: { readonly [folder: string]: readonly string[] } = {
  json: [],
  files: ['errors', 'runtime'],
  fields: ['json'],
  operations: ['fields', 'json'],
  http: ['json'],
  output: [...base, 'json', 'files'],
  profiles: [...base, 'json', 'files', 'http'],
  trajectories: [...base, 'json', 'files', 'fields', 'operations'],
  body: [...base, 'json', 'files', 'fields', 'operations'],
  call: [...base, 'json', 'fields', 'operations', 'http', 'profiles', 'body'],
  batch: [...base, 'json', 'files', 'fields', 'operations', 'http', 'output', 'body', 'call'],
  service: [...base, 'json', 'files', 'fields', 'operations', 'http', 'profiles', 'trajectories'],
  cli: [...base, 'json', 'fields', 'operations', 'output', 'service', 'lint'],
  ledger: [...base, 'json', 'files'],
  lint: [...base, 'json', 'fields', 'trajectories'],
  commands: [
    ...base,
    'json',
    'files',
    'fields',
    'operations',
    'http',
    'output',
    'profiles',
    'body',
    'call',
    'ledger',
    'lint',
    'trajectories',
    'service',
    'batch',
    'cli',
  ],
  main: [...base, 'cli', 'output', 'fields'],
  runtime: ['http'],
  errors: [],
  version: [],
};

// The libraries that are heavy, each behind one door.
const doors: { readonly [library: string]: string } = {
  'zod/mini': 'fields/validator.ts',
  'undici/lib/dispatcher/client.js': 'http/undici.ts',
  conf: 'profiles/store.ts',
  ora: 'output/progress.ts',
  chalk: 'output/style.ts',
  libsql: 'service/store.ts',
  read: 'profiles/prompt.ts',
  'eventsource-parser': 'http/events.ts',
};

describe('imports', () => {
  it.each(files)('of $name go down', ({ name, text }) => {
    const from = folderOf(name);
    for (const { target, isDynamic } of importsOf(name, text)) {
      const to = folderOf(target);
      if (to === from) continue;
      // Commands are imported only when they are chosen.
      if (to === 'commands') expect(isDynamic, `${name} imports ${target} before it is chosen`).toBe(true);
      else expect(allowed[from] ?? [], `${name} imports ${target}`).toContain(to);
    }
  });

  it('of heavy libraries stand in one file each', () => {
    const found = files.flatMap(({ name, text }) =>
      [...text.matchAll(/^import (?!type ).*from '([^.'][^']*)'/gm)].flatMap(([, library = '']) =>
        library.startsWith('node:') ? [] : [`${library} in ${name}`],
      ),
    );
    const wanted = [
      ...Object.entries(doors).map(([library, file]) => `${library} in ${file}`),
      'commander in cli/options.ts',
      'commander in cli/program.ts',
    ];
    expect(found.sort()).toEqual(wanted.sort());
  });
});

describe('the source', () => {
  const lengths = files.map(({ text }) => text.split('\n').length - 1).sort((left, right) => left - right);

  it('is made of small files', () => {
    expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThan(60);
    expect(files.filter(({ text }) => text.split('\n').length > 201).map(({ name }) => name)).toEqual([]);
  });

  it.each(files)('$name keeps the conventions', ({ name, text }) => {
    const code = text
      .replace(/\/\*\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      .replace(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''");
    expect(code, 'process belongs to bin').not.toMatch(/\bprocess\./);
    const ofTheWorld = /\bMath\.random|\bDate\.now|\bnew Date\(\)|\bhostname\(|(?<!\.)\bset(Timeout|Interval)\(/;
    expect(code, 'clock, chance and host come from the Runtime').not.toMatch(ofTheWorld);
    expect(text, 'chance comes from the Runtime').not.toMatch(/random\w+[^;]*from 'node:crypto'/);
    expect(code, 'console is not for src').not.toMatch(/\bconsole\./);
    expect(code, 'no default exports').not.toMatch(/export default/);
    expect(code, 'no barrels').not.toMatch(/export (\*|\{[^}]*\}) from/);
    expect(text, 'nothing left open').not.toMatch(/\b(TODO|FIXME|XXX|HACK)\b/);
    expect(name).not.toMatch(/util|helper|common|\blib\b/);
    const exported = [...text.matchAll(/(?:^|\n)([^\n]*)\nexport (?:async )?(?:function\*?|class|const) (\w+)/g)];
    for (const [, before = '', what] of exported) expect(before.trim(), `${what} promises nothing`).toMatch(/\*\/$/);
  });

  it('has the version of the package', () => {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    expect(JSON.parse(text).version).toBe(version);
  });
});

function importsOf(name: string, text: string): { target: string; isDynamic: boolean }[] {
  return [...text.matchAll(/(import\()?(?:from )?'(\.[^']+\.ts)'/g)].map(([, dynamic, path = '']) => ({
    target: join(name, '..', path),
    isDynamic: dynamic !== undefined,
  }));
}

function folderOf(name: string): string {
  return name.includes('/') ? (name.split('/')[0] ?? '') : name.replace('.ts', '');
}
