import { expect, it } from 'vitest';
import { parseJson } from '../../src/json/parse-json.ts';
import { extractBlock } from '../../src/results/response-views.ts';
import { LONG_RUN } from '../support/long-run.ts';

it.each(['`', '~'])('reads a text of repeated %s in linear time', (mark) => {
  const doc = parseJson(JSON.stringify({ choices: [{ message: { content: mark.repeat(LONG_RUN) } }] }));
  expect(() => extractBlock('code')(doc)).toThrow('the response has no code block');
});
