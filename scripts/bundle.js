// Builds dist/: the code that bin/svc.js loads, libraries included, in few files (docs/internals/decisions/0018).
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';
import asc from 'assemblyscript/asc';
import { build } from 'esbuild';
import httpParser from 'undici/lib/llhttp/llhttp-wasm.js';
import { bundledPackages } from './bundled-packages.js';
import { layered } from './layers.js';
import { noticesOf } from './notices.js';
import { packSourceMaps } from './pack-source-maps.js';
import { sbomOf, versionOf } from './sbom.js';
import { standIns } from './stand-ins.js';

const dist = 'dist';
rmSync(dist, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { main: 'src/main.ts', complete: 'src/cli/complete.ts' },
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
  // As ES modules, of which the bundler leaves out what svc does not use.
  alias: { yaml: './node_modules/yaml/browser/dist/index.js' },
  // The names of chunks must not depend on where a linked node_modules is.
  preserveSymlinks: true,
  sourcemap: 'external',
  sourcesContent: false,
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
});
// The program of a thread, on its own: what it shared with the first program would be more files for each command.
const worker = await build({
  entryPoints: ['src/results/jq-worker.ts'],
  outdir: dist,
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  plugins: [standIns],
  metafile: true,
  logLevel: 'warning',
});
Object.assign(metafile.inputs, worker.metafile.inputs);
Object.assign(metafile.outputs, worker.metafile.outputs);
writeFileSync(`${dist}/root.json`, JSON.stringify(await rootTexts()));
// Its library is compiled into the parser of JSON.
metafile.inputs['node_modules/assemblyscript/std/assembly/index.d.ts'] = {};
// A quarter of its size; a filter decompresses it.
writeFileSync(
  `${dist}/jq.wasm.br`,
  brotliCompressSync(readFileSync('node_modules/jq-wasm/dist/build/jq.wasm'), {
    params: { [constants.BROTLI_PARAM_LGWIN]: 24 },
  }),
);
await compileAssemblyScript('src/json/webassembly/build-tape.ts', `${dist}/fast-parser.wasm`);
writeFileSync(`${dist}/llhttp.wasm`, httpParser);
packSourceMaps(dist);
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
const packages = bundledPackages(metafile.inputs);
writeFileSync(`${dist}/notices.txt`, noticesOf(packages));
const sbom = sbomOf(packages);
writeFileSync(`${dist}/sbom.cdx.json`, `${JSON.stringify(sbom)}\n`);
writeFileSync(`${dist}/version.json`, JSON.stringify(versionOf(sbom)));

async function compileAssemblyScript(source, file) {
  const options = ['-O3', '--runtime', 'stub', '--enable', 'simd', '--noAssert'];
  const { error, stderr } = await asc.main([source, '--outFile', file, ...options]);
  if (error) throw new Error(stderr.toString());
}

// The output of svc with one of these flags at 80 columns, which bin prints without loading any code.
async function rootTexts() {
  const { outputFiles } = await build({
    stdin: {
      contents: "export { helpText } from './cli/docs/help-text.ts'; export { version } from './version.ts';",
      resolveDir: 'src',
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    plugins: [{ name: 'without-commands', setup: skipCommands }, standIns],
  });
  const { helpText, version } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
  const help = (isFull) => helpText({ words: [], isFull }, 80, '{docs}');
  const versionText = `svc ${version}\n`;
  return { '-h': help(false), '--help': help(true), '-V': versionText, '--version': versionText };
}

// Help needs the flags of commands, and not the commands.
function skipCommands({ onResolve }) {
  onResolve({ filter: /^\.\.\/commands\// }, ({ path, kind }) =>
    kind === 'dynamic-import' ? { path, external: true } : undefined,
  );
}
