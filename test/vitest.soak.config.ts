import { defineConfig } from 'vitest/config';
import usual from './vitest.config.ts';

/** The long tests, which `npm run test:soak` runs and `npm test` does not. */
export default defineConfig({
  test: { ...usual.test, include: ['test/**/*.soak.ts'], testTimeout: 3_600_000, hookTimeout: 3_600_000 },
});
