import { describe, expect, it } from 'vitest';
import { generatedFiles } from '../../src/cli/docs/generated-files.ts';

// `npm run generate` is this test told to write instead of to compare.
describe('generated files are fresh; if not: npm run generate', () => {
  it.each(generatedFiles)('$path', async ({ path, text }) => {
    await expect(text(), `${path} is stale: npm run generate`).toMatchFileSnapshot(`../../${path}`);
  });
});
