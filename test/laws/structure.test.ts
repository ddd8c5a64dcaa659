import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Setting, settings } from '../../src/config/settings.ts';
import { version } from '../../src/version.ts';

const root = new URL('../../src/', import.meta.url).pathname;
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));

// The directories of src/ in the order a request passes through them: each imports only those after it, and the types
// and values that every one shares.
const directories = [
  'main',
  'cli',
  'commands',
  'batch',
  'client',
  'local-service',
  'config',
  'reports',
  'train',
  'trace',
  'body',
  'results',
  'output',
  'operations',
  'fields',
  'http',
  'files',
  'json',
];
const shared = ['command', 'context', 'flag', 'runtime', 'errors', 'version'];

// The heavy libraries; each is imported in one file.
const doors: { readonly [library: string]: string } = {
  'zod/mini': 'fields/schema-validator.ts',
  yaml: 'body/yaml-source.ts',
  'undici/lib/dispatcher/client.js': 'http/transport.ts',
  conf: 'config/profile-conf.ts',
  ora: 'output/spinner.ts',
  chalk: 'output/text-style.ts',
  'jq-wasm': 'results/jq-worker.ts',
  libsql: 'local-service/store/open-store.ts',
  postgres: 'local-service/store/postgres-store.ts',
  read: 'config/credentials/prompt.ts',
  'ajv/dist/2020.js': 'local-service/model/json-schema.ts',
  'eventsource-parser': 'http/event-stream.ts',
};

describe('imports', () => {
  it.each(files)('of $name go down', ({ name, text }) => {
    const from = directoryOf(name);
    if (shared.includes(from)) return;
    for (const { target, isDynamic } of importsOf(name, text)) {
      const to = directoryOf(target);
      // `operation/` is the way that operations share, and definitions load the commands that they describe.
      const isShared = [name, target].some((file) => file.startsWith('commands/definitions/'));
      if (from === 'commands' && to === from && !target.startsWith('commands/operation/') && !isShared)
        expect(target.split('/')[1], `${name} imports another command`).toBe(name.split('/')[1]);
      if (to === from || shared.includes(to)) continue;
      // Commands are imported only when they are chosen, except their definitions.
      if (to === 'commands' && !target.startsWith('commands/definitions/'))
        expect(isDynamic, `${name} imports ${target} before it is chosen`).toBe(true);
      expect(directories, `the order knows no directory ${to}`).toContain(to);
      expect(directories.indexOf(to), `${name} imports ${target}`).toBeGreaterThan(directories.indexOf(from));
    }
  });

  it('of heavy libraries are in one file each', () => {
    const found = files.flatMap(({ name, text }) =>
      [...text.matchAll(/(?:^import (?!type ).*from |\bimport\()'([^.'][^']*)'/gm)].flatMap(([, library = '']) =>
        library.startsWith('node:') ? [] : [`${library} in ${name}`],
      ),
    );
    const wanted = [
      ...Object.entries(doors).map(([library, file]) => `${library} in ${file}`),
      'commander in cli/command-tree.ts',
    ];
    expect(found.sort()).toEqual(wanted.sort());
  });
});

describe('the source', () => {
  // Help is a command, and lists all commands; so do answers to mistakes.
  const listsCommands = ['cli/docs/show-help.ts', 'cli/command-mistakes.ts'];

  it('has no circle of imports, those of types and of commands included', () => {
    const importsByFile = new Map(
      files.map(({ name, text }) => [
        name,
        importsOf(name, text).flatMap(({ target }) => (listsCommands.includes(target) ? [] : [target])),
      ]),
    );
    const circles: string[] = [];
    const done = new Set<string>();
    const follow = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      if (path.includes(file) || done.has(file)) return;
      for (const target of importsByFile.get(file) ?? []) follow(target, [...path, file]);
      done.add(file);
    };
    for (const file of importsByFile.keys()) follow(file, []);
    expect(circles).toEqual([]);
  });

  it('has no file that nothing imports, such as an operation or a command without its entry', () => {
    const loadedOtherwise = ['main.ts', 'cli/complete.ts', 'results/jq-worker.ts', 'http/undici-modules.d.ts'];
    const imported = new Set(files.flatMap(({ name, text }) => importsOf(name, text).map(({ target }) => target)));
    const names = files.map(({ name }) => name).filter((name) => !name.startsWith('json/webassembly/'));
    expect(names.filter((name) => !imported.has(name) && !loadedOtherwise.includes(name))).toEqual([]);
  });

  it('reads settings from the environment in their table only', () => {
    const variables = settings.flatMap(({ variable }: Setting) =>
      variable && /^(SVC|PG)/.test(variable) ? variable : [],
    );
    const reads = files.flatMap(({ name, text }) =>
      variables.flatMap((variable) =>
        new RegExp(`env(\\.|\\[['"])${variable}\\b|\\{[^{}'"\n]*\\b${variable}\\b[^{}]*\\} = [\\w.]*env\\b`).test(text)
          ? `${name} reads ${variable}: write environmentSetting(name, env), or resolveSetting(name, sources)`
          : [],
      ),
    );
    expect(reads).toEqual([]);
  });

  it('is made of files of one idea, up to 400 lines', () => {
    expect(files.filter(({ text }) => text.split('\n').length > 401).map(({ name }) => name)).toEqual([]);
  });

  it('has room for one more command in each file of commands', () => {
    const full = files.filter(({ name, text }) => /^cli\/.*-commands\.ts$/.test(name) && text.split('\n').length > 361);
    expect(full.map(({ name }) => name)).toEqual([]);
  });

  it('loads the data of locales only for what shows it: 10 ms of the first view of the page', () => {
    const formats = files.filter(({ text }) => /^(export )?const .*new Intl\.|\.toLocaleString\(/m.test(text));
    expect(formats.map(({ name }) => name)).toEqual(['reports/charts.ts']);
  });

  it('exports each name once', () => {
    const filesByName = new Map<string, Set<string>>();
    for (const { name: file, text } of files)
      for (const name of exportedNames(text)) filesByName.set(name, (filesByName.get(name) ?? new Set()).add(file));
    const duplicates = [...filesByName].filter(([, from]) => from.size > 1).map(([name]) => name);
    expect(duplicates).toEqual([]);
    const short = [...filesByName.keys()].filter((name) => /^[a-z]+$/.test(name));
    expect(short.length / filesByName.size, `one-word names: ${short.join(', ')}`).toBeLessThan(0.02);
  });

  it('names nothing like a global of Node', () => {
    const shadows = files.flatMap(({ name: file, text }) =>
      exportedNames(text).flatMap((name) => (Object.hasOwn(globalThis, name) ? [`${name} in ${file}`] : [])),
    );
    expect(shadows).toEqual([]);
  });

  it.each(files)('$name names its number constants in capitals, with what they limit and the unit', ({ text }) => {
    const constants = [
      ...text.matchAll(/^(?:export )?const (\w+)(?:: number)? = (-?[\d._]+(?: (?:\*\*?|-) [\d._]+)*);$/gm),
    ];
    for (const [, name = ''] of constants) {
      // The kinds of bytes in a table are no limits.
      if (/^(QUOTE|OPEN|CLOSE)$/.test(name)) continue;
      expect(name).toMatch(/^[A-Z][A-Z\d]*(_[A-Z\d]+)+$/);
      expect(name).not.toMatch(/MOST|FEW|LONGEST|PATIENCE|SOON|PIECE|ENOUGH|LAST_WORDS/);
    }
  });

  it.each(files)('$name keeps the conventions', ({ name, text }) => {
    const uncommented = text.replace(/\/\*\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    expect(uncommented, 'formatByteSize prints sizes').not.toMatch(/\b[kKMG]B\b|\} [KMG]iB\b/);
    const code = uncommented.replace(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''");
    expect(code, 'process belongs to bin').not.toMatch(/\bprocess\./);
    const ofTheWorld = /\bMath\.random|\bDate\.now|\bnew Date\(\)|\bhostname\(|(?<!\.)\bset(Timeout|Interval)\(/;
    expect(code, 'clock, chance and host come from the Runtime').not.toMatch(ofTheWorld);
    expect(text, 'chance comes from the Runtime').not.toMatch(/random\w+[^;]*from 'node:crypto'/);
    expect(code, 'console is not for src').not.toMatch(/\bconsole\./);
    expect(text, 'the number of operations changes').not.toMatch(/\bfive operations\b/);
    expect(code, 'no default exports').not.toMatch(/export default/);
    expect(code, 'no barrels').not.toMatch(/export (\*|\{[^}]*\}) from/);
    expect(text, 'nothing left open').not.toMatch(/\b(TODO|FIXME|XXX|HACK)\b/);
    expect(text, 'cite docs/internals/contract.md or docs/internals/servers.md').not.toMatch(
      /PRODUCT\.md|SERVERS\.md|INTERFACE\.md/,
    );
    expect(name).not.toMatch(/util|helper|common|\blib\b/);
  });

  it('has the version of the package', () => {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    expect(JSON.parse(text)).toMatchObject({ version });
  });
});

function importsOf(name: string, text: string): { target: string; isDynamic: boolean }[] {
  return [...text.matchAll(/(import\()?(?:from )?'(\.[^']+\.ts)'/g)].map(([, dynamic, path = '']) => ({
    target: join(name, '..', path),
    isDynamic: dynamic !== undefined,
  }));
}

function exportedNames(text: string): string[] {
  const declared = /^export (?:declare )?(?:async )?(?:function\*?|class|const|interface|type) (\w+)/gm;
  return [...text.matchAll(declared)].map(([, name = '']) => name);
}

function directoryOf(name: string): string {
  return name.includes('/') ? (name.split('/')[0] ?? '') : name.replace('.ts', '');
}
