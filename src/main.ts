import { rootText } from './cli/root.ts';
import type { OutputStream, Runtime } from './runtime.ts';

/**
 * Runs one command line and returns the exit code of the process. What is asked most and is only text comes before
 * anything else is loaded.
 */
export async function main(runtime: Runtime): Promise<number> {
  const text = rootText(runtime.argv, Math.min(runtime.stdout.columns || 80, 100));
  if (text !== undefined && (await isWritten(text, runtime.stdout))) return 0;
  const { run } = await import('./run.ts');
  return run(runtime);
}

// What cannot be written is tried again by those who can say why.
function isWritten(text: string, stdout: OutputStream): Promise<boolean> {
  return new Promise((resolve) => {
    stdout.once('error', () => {});
    stdout.write(text, (error) => resolve(!error));
  });
}
