import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { brotliDecompress } from 'node:zlib';
import { type Jq, loadJq } from 'jq-wasm';

/** The result of one run of jq: one JSON text per line, and what it wrote to its stderr. */
export interface JqRun {
  readonly lines: readonly string[];
  readonly stderr: string;
  readonly exitCode: number;
}

/** jq itself, as WebAssembly. A run that exceeds its memory throws; the engine must not be used again then. */
export interface JqEngine {
  readonly run: (input: string, filter: string) => JqRun;
}

/** Loads the engine from a file, which is beside the bundle. */
export async function openJqEngine(file = new URL('./jq.wasm.br', import.meta.url)): Promise<JqEngine> {
  // A filter runs a few times at most, so optimized code would cost more than it saves.
  setFlagsFromString('--liftoff-only');
  const jq = await loadJq({ wasmBinary: await promisify(brotliDecompress)(await readFile(file)) });
  return { run: (input, filter) => runJq(jq, input, filter) };
}

function runJq(jq: Jq, input: string, filter: string): JqRun {
  // The space keeps a filter such as `-1` from being read as an option.
  const { stdout, stderr, exitCode } = jq.raw(input, ` ${filter}`, ['-c']);
  return { lines: stdout === '' ? [] : stdout.split('\n'), stderr, exitCode };
}
