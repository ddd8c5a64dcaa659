import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;

// Files of libraries on whose insides svc relies, and why, with the digest of the version that was reviewed. After an update:
// read what changed in the file, adapt scripts/stand-ins.js if the reason no longer holds, then record the new digest.
const reviewed: { readonly [file: string]: readonly [digest: string, reason: string] } = {
  'ajv/dist/2020.js': ['908e9670b478b2ba', 'without the keyword discriminator, which is off'],
  'ajv/dist/runtime/uri.js': [
    'd1d61baf97ed87d7',
    'without fast-uri: of a URI it parses and serializes only the fragment, and resolves URLs',
  ],
  'atomically/dist/utils/temp.js': [
    'ad2f918838672a1e',
    'without when-exit, it removes no temporary files at a signal, and handles no signals',
  ],
  'cli-spinners/spinners.json': ['91b0d44a709e836a', 'only the spinners dots and line are bundled'],
  'commander/lib/command.js': [
    'c161e3d99c26a125',
    'without node:child_process, which only runs commands that are separate programs',
  ],
  'conf/dist/source/index.js': [
    '938d76441bf7708a',
    'without ajv, semver, debounce-fn, env-paths and node:crypto, for schemas, migrations, watching, default paths and encryption, of which svc uses none',
  ],
  'jq-wasm/dist/index.mjs': [
    '2eed8c07b074476d',
    'its environment and one message are edited; it gets the WebAssembly from a file',
  ],
  'ora/index.js': ['8ce1d2e2f12ab459', 'it uses the spinners dots and line only'],
  'postgres/src/index.js': ['4e21f5733e70d79c', 'without large.js, for large objects'],
  'undici/lib/core/util.js': ['86cf260e28a97ad7', 'without node:http, of which it compares with a class'],
  'undici/lib/dispatcher/client-h1.js': [
    '51dc0e16fea69d22',
    'without the form bodies of fetch; it compiles llhttp_simd-wasm.js, which is replaced by the build without SIMD, and reads them from a file',
  ],
  'undici/lib/dispatcher/client.js': [
    '84205dc96cb9bf74',
    'imported directly, which is private; without HTTP/2 and node:http',
  ],
  'undici/lib/llhttp/llhttp-wasm.js': ['344f7ae80c983694', 'imported directly at build time, which is private'],
  'yaml/package.json': [
    '1c6441703d8204a2',
    'its ES modules are bundled, without those that write YAML and without the types of YAML 1.1, which svc rejects',
  ],
};

function digestOf(file: string): string {
  const bytes = readFileSync(join(root, 'node_modules', file));
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}

function versionOf(file: string): string {
  const [name = ''] = file.split('/');
  return JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;
}

describe('the insides of libraries on which svc relies', () => {
  it('are of exact versions: package.json pins what the bundle holds', () => {
    const { inputs }: Metafile = JSON.parse(readFileSync(join(root, 'dist/meta.json'), 'utf8'));
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const bundled = new Set(
      Object.keys(inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? ''),
    );
    const ranges = [...bundled].filter((name) => name in devDependencies && !/^\d/.test(devDependencies[name]));
    expect(bundled.size).toBeGreaterThan(10);
    expect(ranges, 'write the version of package-lock.json without a range').toEqual([]);
  });

  it.each(Object.entries(reviewed))('%s is as reviewed', (file, [digest, reason]) => {
    expect(existsSync(join(root, 'node_modules', file)), `${file} no longer exists; svc needs it: ${reason}`).toBe(
      true,
    );
    expect(digestOf(file), `${file} changed in ${versionOf(file)}; review it: ${reason}`).toBe(digest);
  });

  it('are all reviewed: modules that are replaced, and private modules that svc imports', () => {
    const { inputs }: Metafile = JSON.parse(readFileSync(join(root, 'dist/meta.json'), 'utf8'));
    const found = Object.entries(inputs).flatMap(([importer, { imports = [] }]) =>
      imports.flatMap(({ path }) => [
        ...(/^(unused|schema-uris):/.test(path) ? [importer] : []),
        // A path into a package that does not export it.
        ...(importer.startsWith('src/') && path.includes('node_modules/undici/') ? [path] : []),
      ]),
    );
    const files = new Set(found.map((path) => path.replace(/^.*node_modules\//, '')));
    expect(files.size).toBeGreaterThan(5);
    const isReviewed = (file: string): boolean => file in reviewed || file.replace(/\/.*/, '/package.json') in reviewed;
    expect([...files].filter((file) => !isReviewed(file))).toEqual([]);
  });

  it('are replaced in the bundle: every rule of scripts/stand-ins.js has an effect', () => {
    const { inputs }: Metafile = JSON.parse(readFileSync(join(root, 'dist/meta.json'), 'utf8'));
    const replaced = Object.values(inputs).flatMap(({ imports = [] }) =>
      imports.flatMap(({ path }) =>
        /^(unused|schema-uris):/.test(path) ? [path.replace(/^[a-z-]+:(.*\/(?=\w+\.js$)(?!2020|body))?/, '')] : [],
      ),
    );
    expect([...new Set(replaced)].sort()).toEqual([
      '../web/fetch/body.js',
      './client-h2.js',
      './vocabularies/discriminator',
      'ajv-formats',
      'ajv/dist/2020.js',
      'binary.js',
      'debounce-fn',
      'env-paths',
      'fast-uri',
      'large.js',
      'node:child_process',
      'node:crypto',
      'node:http',
      'omap.js',
      'pairs.js',
      'semver',
      'set.js',
      'stringify.js',
      'stringifyCollection.js',
      'stringifyDocument.js',
      'stringifyNumber.js',
      'stringifyPair.js',
      'stringifyString.js',
      'timestamp.js',
      'when-exit',
    ]);
  });
});

interface Metafile {
  readonly inputs: { readonly [file: string]: { readonly imports?: readonly { readonly path: string }[] } };
}
