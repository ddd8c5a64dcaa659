import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { canUseColor } from '../../src/output/color.ts';

it.each([
  [true, {}, true],
  [false, {}, false],
  [true, { TERM: 'dumb' }, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
  [false, { FORCE_COLOR: '1' }, true],
  [true, { FORCE_COLOR: '0' }, false],
  [false, { CLICOLOR_FORCE: '1' }, true],
  [false, { CLICOLOR_FORCE: '0' }, false],
  [true, { CLICOLOR: '0' }, false],
  [false, { CLICOLOR: '1' }, false],
])('a terminal (%s) with %o has color: %s', (isTTY, env, expected) => {
  expect(canUseColor(Object.assign(new Writable(), { isTTY }), env)).toBe(expected);
});
