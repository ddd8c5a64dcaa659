import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Metafile {
  readonly inputs: { readonly [file: string]: { readonly imports?: readonly { readonly path: string }[] } };
}

const { inputs }: Metafile = JSON.parse(read('dist/meta.json'));
const importsOf = (file: string): string[] => (inputs[file]?.imports ?? []).map(({ path }) => path);
const packageOf = (file: string): string | undefined => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1];

// The libraries of which scripts/stand-ins.js replaces a part: other modules, or, by name, a part of a file.
const edited = ['cli-spinners', 'jq-wasm'];
const replaced = new Set([
  ...Object.keys(inputs).flatMap((file) =>
    importsOf(file).some((path) => /^(unused|schema-uris|wasm):/.test(path)) ? (packageOf(file) ?? []) : [],
  ),
  ...edited.filter((name) => Object.keys(inputs).some((file) => packageOf(file) === name)),
]);

// The files of src/ that import such a library: in the source, its parts are not replaced.
const doors = new Set(
  Object.keys(inputs).filter(
    (file) => file.startsWith('src/') && importsOf(file).some((path) => replaced.has(packageOf(path) ?? '')),
  ),
);

/** The tests that may import a door all the same: what they show of svc's own code does not depend on the library. */
const allowed: { readonly [test: string]: readonly [door: string, reason: string] } = {
  'body/yaml.test.ts': ['src/body/yaml-source.ts', 'positions and limits of svc over thousands of texts'],
  'http/network.test.ts': [
    'src/http/transport.ts',
    'connections to proxies and TLS servers that a command cannot name',
  ],
  'local-service/upstream.test.ts': ['src/http/transport.ts', 'the service in this process, which needs a network'],
  'laws/commands.test.ts': ['src/cli/command-tree.ts', 'flags and commands as data'],
  'laws/next-steps.test.ts': ['src/cli/command-tree.ts', 'whether commands in messages parse'],
};

/** The test of the built program for each library, in the file and under a title that names the library. */
const builtTests: { readonly [library: string]: string } = {
  ajv: 'e2e/stand-ins.test.ts',
  atomically: 'e2e/stand-ins.test.ts',
  'cli-spinners': 'e2e/stand-ins.test.ts',
  commander: 'e2e/stand-ins.test.ts',
  conf: 'e2e/stand-ins.test.ts',
  'jq-wasm': 'e2e/stand-ins.test.ts',
  ora: 'e2e/stand-ins.test.ts',
  postgres: 'interop/postgres-outages.test.ts',
  undici: 'e2e/stand-ins.test.ts',
  yaml: 'e2e/stand-ins.test.ts',
};

const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.includes('node_modules'),
);

// Values only: a type has no code.
function importedValues(text: string): string[] {
  return [...text.matchAll(/(?:^import (?!type )[^;]*?from |\bimport\()'(?:\.\.\/)+(src\/[^']+)'/gm)].map(
    ([, path = '']) => path,
  );
}

describe('what the bundle replaces', () => {
  it.each(tests)('is not tested on the source by %s', (file) => {
    const found = importedValues(read(`test/${file}`)).filter((path) => doors.has(path) && allowed[file]?.[0] !== path);
    const advice = `drive the built program (test/support/process.ts): the bundle replaces a part of the library that this file imports; or add ${file} to the list of test/laws/bundle.test.ts, with the reason`;
    expect(found, advice).toEqual([]);
  });

  it('is found: libraries and the files that import them', () => {
    expect(replaced.size).toBeGreaterThan(7);
    expect(doors.size).toBeGreaterThan(5);
    const stale = Object.entries(allowed).flatMap(([file, [door]]) =>
      doors.has(door) && importedValues(read(`test/${file}`)).includes(door) ? [] : [file],
    );
    expect(stale, 'remove it from the list: it imports nothing that the bundle replaces').toEqual([]);
  });

  it.each([...replaced])('of %s is beside a path that a test of the built program takes', (library) => {
    const file = builtTests[library];
    const advice = `write a test of the built program that opens, uses, closes and breaks what ${library} does, and name its file in test/laws/bundle.test.ts`;
    expect(file, advice).toBeDefined();
    const text = read(`test/${file}`);
    expect(text.toLowerCase(), advice).toContain(library === 'postgres' ? 'postgresql' : library);
    expect(importedValues(text), 'it must not import the source').toEqual([]);
    expect(text).toContain("from '../support/process.ts'");
  });
});
