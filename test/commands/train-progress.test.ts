import { expect, it } from 'vitest';
import type { Context } from '../../src/context.ts';
import type { TextSource } from '../../src/train/stream/source.ts';
import { showCheckProgress } from '../../src/train/stream/upload.ts';

// What the checks use of a source and of a context.
const sourceOf = (size: number | undefined): TextSource => ({ size }) as TextSource;
const contextWith = (startSpinner: Context['startSpinner'], signal = new AbortController().signal): Context =>
  ({ runtime: { elapsed: () => 0 }, signal, startSpinner }) as Context;

it.each([
  [[60e6, 40e6], 'checking 23.9 MiB of 95.4 MiB (25 %)'],
  [[60e6, undefined], 'checking 23.9 MiB'],
])('the checks of sources of %j bytes show %j', (sizes, text) => {
  let describeProgress = (): string => '';
  const startSpinner = (spinnerText: string | (() => string)): (() => void) => {
    if (typeof spinnerText === 'function') describeProgress = spinnerText;
    return () => {};
  };
  showCheckProgress(sizes.map(sourceOf), contextWith(startSpinner)).onBytes(25e6);
  expect(describeProgress()).toBe(text);
  showCheckProgress(sizes.map(sourceOf), contextWith(startSpinner), () => 7).onBytes(25e6);
  expect(describeProgress()).toBe(`${text}, 7 groups`);
});
