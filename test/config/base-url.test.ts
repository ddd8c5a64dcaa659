import { expect, it } from 'vitest';
import { joinUrl, redactUserInfo } from '../../src/config/base-url.ts';
import { QUADRATIC_GROWTH, timeGrowth } from '../support/time-growth.ts';

it.each([
  ['a path of slashes', (slashes: string) => joinUrl(new URL(`http://x/${slashes}a`), '/v1/x')],
  ['slashes before a name', (slashes: string) => redactUserInfo(`http:${slashes}`)],
])('reads %s in linear time', async (_, read) => {
  expect(await timeGrowth((size) => read('/'.repeat(size)))).toBeLessThan(QUADRATIC_GROWTH);
});
