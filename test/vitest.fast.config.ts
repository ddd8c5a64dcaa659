import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import usual from './vitest.config.ts';

const directory = new URL('.', import.meta.url).pathname;

// Directories and files that start processes or take long; `npm run check` runs them.
const slowPaths =
  /^(e2e|interop|reliability|config|commands|train)\/|^batch\/(?!shard|scheduler)|^(json\/vectors|body\/yaml)|^local-service\/(abort|listen|model)/;
const processImports = /support\/(process|terminal|strace|shells|faults|secure-servers)\b|node:child_process/;

/** The inner loop: all laws, and tests that run in this process, in less than a minute of processor time. */
export default defineConfig({
  test: { ...usual.test, include: fastFiles() },
});

function fastFiles(): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !slowPaths.test(name))
    .filter((name) => name.startsWith('laws/') || !processImports.test(readFileSync(join(directory, name), 'utf8')))
    .map((name) => `test/${name}`);
}
