import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import usual from './vitest.config.ts';

const directory = new URL('.', import.meta.url).pathname;

// What starts processes, listens for a long time or measures: left to `npm test`.
const slowImports =
  /support\/(process|terminal|strace|shells|faults|secure-servers)\b|node:child_process|\/src\/.*run-program/;
const slowFiles = ['train/lint/lint.test.ts'];

/** The inner loop: tests that run in this process, without a build. */
export default defineConfig({
  test: { ...usual.test, include: fastFiles() },
});

function fastFiles(): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !slowFiles.includes(name))
    .filter((name) => !slowImports.test(readFileSync(join(directory, name), 'utf8')))
    .map((name) => `test/${name}`);
}
