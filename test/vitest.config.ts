import { defineConfig } from 'vitest/config';
import { ClosingLine } from './support/closing-line.ts';
import { LongestFirst } from './support/longest-first.ts';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Nothing in src/ is global: the files of a worker share its modules, which it loads once.
    isolate: false,
    reporters: [new ClosingLine()],
    // Many tests wait for a silence or a child: more files than cores run side by side, the longest first.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // A bound for tests that hang, far above what any test takes on a slow or busy machine.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // CI machines are shared: a test that passes when it runs again was disturbed by its neighbors.
    retry: process.env.CI ? 1 : 0,
    // Tests bring their own environment; what the machine has set must not change them.
    env: { NO_COLOR: '', FORCE_COLOR: '', SVC_PROFILE: '' },
  },
});
