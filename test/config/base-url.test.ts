import { expect, it } from 'vitest';
import { joinUrl } from '../../src/config/base-url.ts';
import { redactUserInfo } from '../../src/output/redaction.ts';
import { LONG_RUN } from '../support/long-run.ts';

it.each([
  ['a path of slashes', (slashes: string) => joinUrl(new URL(`http://x/${slashes}a`), '/v1/x')],
  ['slashes before a name', (slashes: string) => redactUserInfo(`http:${slashes}`)],
])('reads %s in linear time', (_, read) => {
  expect(read('/'.repeat(LONG_RUN)).length).toBeGreaterThan(LONG_RUN);
});
