import { describe, expect, it } from 'vitest';
import { generatedFiles } from '../../scripts/generated-files.ts';

// `npm run generate` runs this test with --update, so that it writes the files.
describe('generated files are fresh; if not: npm run generate', () => {
  it.each(generatedFiles)('$path', async ({ path, text }) => {
    await expect(text(), `${path} is stale: npm run generate`).toMatchFileSnapshot(`../../${path}`);
  });
});
