import { describe, expect, it } from 'vitest';
import { generatedFiles } from '../../scripts/generated-files.ts';

// `npm run generate` runs this test with --update, so that it writes the files.
describe('generated files are fresh; if not: npm run generate', () => {
  it.each(generatedFiles)('$path', async ({ path, text }) => {
    await expect(text(), `${path} is stale: npm run generate`).toMatchFileSnapshot(`../../${path}`);
  });
});

it('no bound of 64 bits is printed rounded to a double', async () => {
  const texts = await Promise.all(generatedFiles.map(async ({ path, text }) => [path, await text()] as const));
  expect(texts.filter(([, text]) => /\d{16}000\b/.test(text)).map(([path]) => path)).toEqual([]);
});
