// Builds dist/: the code that bin/svc.js loads, libraries included, in few files (docs/decisions/0018).
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';
import asc from 'assemblyscript/asc';
import { build } from 'esbuild';
import parserWithSimd from 'undici/lib/llhttp/llhttp_simd-wasm.js';
import parser from 'undici/lib/llhttp/llhttp-wasm.js';
import { layered } from './layers.js';
import { noticesOf } from './notices.js';
import { standIns } from './stand-ins.js';
import { trimSourceMaps } from './trim-source-maps.js';

const dist = 'dist';
rmSync(dist, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: ['src/main.ts'],
  outdir: dist,
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  // Native libraries are installed for the machine at hand; they cannot be bundled.
  external: ['libsql', '@napi-rs/keyring'],
  plugins: [standIns, layered],
  sourcemap: true,
  sourcesContent: false,
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
});
// The program of a thread, on its own: what it shared with the first program would be more files for each command.
await build({
  entryPoints: ['src/results/jq-worker.ts'],
  outdir: dist,
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  plugins: [standIns],
  logLevel: 'warning',
});
// These run without the loader of ES modules. Completion never loads a command.
const early = await build({
  entryPoints: { root: 'src/cli/docs/root-help.ts', complete: 'src/cli/complete.ts' },
  outdir: dist,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  minify: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20.18',
  external: ['../commands/*', './docs/*'],
  plugins: [standIns],
  metafile: true,
  logLevel: 'warning',
});
Object.assign(metafile.outputs, early.metafile.outputs);
// A quarter of its size; a filter decompresses it.
writeFileSync(
  `${dist}/jq.wasm.br`,
  brotliCompressSync(readFileSync('node_modules/jq-wasm/dist/build/jq.wasm'), {
    params: { [constants.BROTLI_PARAM_LGWIN]: 24 },
  }),
);
await compileAssemblyScript(['build-tape.ts', 'distinct-keys.ts'], `${dist}/fast-parser.wasm`);
writeFileSync(`${dist}/llhttp.wasm`, parser);
writeFileSync(`${dist}/llhttp_simd.wasm`, parserWithSimd);
trimSourceMaps(dist);
// The files that the local service serves to browsers.
await build({
  entryPoints: ['page.html', 'page.css', 'page.js'].map((name) => `src/local-service/page/${name}`),
  outdir: `${dist}/page`,
  bundle: true,
  format: 'esm',
  minify: true,
  loader: { '.html': 'copy' },
  logLevel: 'warning',
});
writeFileSync(`${dist}/meta.json`, JSON.stringify(metafile));
writeFileSync(`${dist}/notices.txt`, noticesOf(metafile));

async function compileAssemblyScript(names, file) {
  const sources = names.map((name) => `src/json/webassembly/${name}`);
  const options = ['-O3', '--runtime', 'stub', '--enable', 'simd', '--noAssert'];
  const { error, stderr } = await asc.main([...sources, '--outFile', file, ...options]);
  if (error) throw new Error(stderr.toString());
}
