import { defineConfig } from 'vitest/config';
import { ClosingLine } from './support/closing-line.ts';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    reporters: [new ClosingLine()],
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Tests bring their own environment; what the machine has set must not change them.
    env: { NO_COLOR: '', FORCE_COLOR: '', SVC_PROFILE: '' },
  },
});
