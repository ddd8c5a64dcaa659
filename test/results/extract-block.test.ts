import { expect, it } from 'vitest';
import { parseJson } from '../../src/json/parse-json.ts';
import { extractBlock } from '../../src/results/extract-block.ts';
import { QUADRATIC_GROWTH, timeGrowth } from '../support/time-growth.ts';

it.each(['`', '~'])('reads a text of repeated %s in linear time', async (mark) => {
  const growth = await timeGrowth((size) => {
    const content = mark.repeat(size);
    const doc = parseJson(JSON.stringify({ choices: [{ message: { content } }] }));
    expect(() => extractBlock('code')(doc)).toThrow('the response has no code block');
  });
  expect(growth).toBeLessThan(QUADRATIC_GROWTH);
});
