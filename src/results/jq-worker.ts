import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { brotliDecompress } from 'node:zlib';
import { loadJq } from 'jq-wasm';
import type { JqInput, JqRun } from './jq-filter.ts';

// jq in a thread of its own: a filter can run without end. An exception, as for memory, ends the thread.

// A filter runs a few times at most, so optimized code would cost more than it saves.
setFlagsFromString('--liftoff-only');
const wasmBinary = await promisify(brotliDecompress)(await readFile(new URL('./jq.wasm.br', import.meta.url)));
const jq = await loadJq({ wasmBinary });

parentPort?.on('message', ({ input, filter }: JqInput) => {
  // The space keeps a filter such as `-1` from being read as an option.
  const { stdout, stderr, exitCode } = jq.raw(input, ` ${filter}`, ['-c']);
  const run: JqRun = { lines: stdout === '' ? [] : stdout.split('\n'), stderr, exitCode };
  parentPort?.postMessage(run);
});
