import { defineConfig } from 'vitest/config';
import usual from './vitest.config.ts';

/** The long tests, which `npm run test:scale` runs and `npm test` does not. */
export default defineConfig({
  test: { ...usual.test, include: ['test/**/*.scale.ts'], testTimeout: 900_000, hookTimeout: 900_000 },
});
