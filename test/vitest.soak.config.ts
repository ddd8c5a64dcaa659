import { mergeConfig } from 'vitest/config';
import usual from './vitest.config.ts';

/** The long tests, which `npm run test:soak` runs and `npm test` does not. */
const soak = mergeConfig(usual, { test: { testTimeout: 600_000 } });

export default { ...soak, test: { ...soak.test, include: ['test/soak/**/*.soak.ts'] } };
