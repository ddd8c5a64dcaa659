import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { safetyCauses } from '../../src/errors.ts';

const root = new URL('../../src/', import.meta.url).pathname;
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && path !== 'errors.ts')
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

it('every failure of a safety check has a cause', () => {
  const bare = sources.filter(({ text }) => /Failure\(\s*'safety_check'(?![^;]*\bcause: ')/.test(text));
  expect(
    bare.map(({ path }) => path),
    'use safetyFailure',
  ).toEqual([]);
});

it.each(Object.keys(safetyCauses))('a check has the cause %s', (cause) => {
  expect(sources.some(({ text }) => text.includes(`'${cause}'`))).toBe(true);
});
