import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { applyStyle } from '../../src/output/text-style.ts';
import { canUseColor } from '../../src/output/writer.ts';
import { run } from '../support/process.ts';

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

it('--color comes before the environment and the terminal', async () => {
  expect(canUseColor(Object.assign(new Writable(), { isTTY: false }), { NO_COLOR: '1' }, 'always')).toBe(true);
  expect(canUseColor(Object.assign(new Writable(), { isTTY: true }), { CLICOLOR_FORCE: '1' }, 'never')).toBe(false);
  expect((await run(['train', 'log', '--limit', 'x', '--color', 'always'])).stderr).toMatch(/^\x1b\[31msvc:\x1b\[39m /);
  expect((await run(['train', 'log', '--limit', 'x', '--color=sometimes'])).code).toBe(2);
});

it('JSON is colored by kind of token, and only the color is added', () => {
  const text = '{\n  "a\\":b": [-1.50e+3, true, null, "x: \\\\", "\\"1\\"", {}]\n}';
  const colored = applyStyle(text, 'json');
  expect(colored.replace(/\x1b\[\d+m/g, '')).toBe(text);
  expect(colored.match(/\x1b\[3[1-7]m[^\x1b]*/g)).toEqual([
    '\x1b[36m"a\\":b"',
    '\x1b[33m-1.50e+3',
    '\x1b[35mtrue',
    '\x1b[35mnull',
    '\x1b[32m"x: \\\\"',
    '\x1b[32m"\\"1\\""',
  ]);
  const long = `"${'\\n'.repeat(10_000_000)}"`;
  expect(applyStyle(long, 'json').length).toBe(long.length + 10);
});
