import { setFlagsFromString } from 'node:v8';

/**
 * Has the parser of HTTP, which is WebAssembly, compiled the quick way. For one exchange it is not worth optimising: that
 * takes 30 MiB, and on Node 20 the end of the process waits for it, which is half of its time. To be called before the parser
 * is loaded.
 */
export function useBaselineCompiler(): void {
  setFlagsFromString('--liftoff-only');
}
