import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareNumberLiterals, isIntegerLiteral } from '../../src/json/number-literal.ts';
import { LONG_RUN } from '../support/long-run.ts';

describe('isInteger', () => {
  it.each(['0', '-0', '1.0', '1e3', '1.50e1', '100e-2', '1e400', '9223372036854775807', '0.0', '0e-5'])(
    '%s is an integer',
    (text) => {
      expect(isIntegerLiteral(text)).toBe(true);
    },
  );

  it.each(['0.5', '1e-1', '15e-1', '9007199254740993.5', '1e-400'])('%s is not an integer', (text) => {
    expect(isIntegerLiteral(text)).toBe(false);
  });
});

describe('compareNumbers', () => {
  it('agrees with bigints on integers of any size', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt(), (left, right) => {
        expect(compareNumberLiterals(String(left), String(right))).toBe(left < right ? -1 : left > right ? 1 : 0);
      }),
    );
  });

  it('agrees with doubles on doubles', () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(number, number, (left, right) => {
        expect(compareNumberLiterals(JSON.stringify(left), JSON.stringify(right))).toBe(
          left < right ? -1 : left > right ? 1 : 0,
        );
      }),
    );
  });

  it.each([
    ['9223372036854776000', '9223372036854776001', -1],
    ['9.223372036854776e18', '9223372036854776000', 0],
    ['-1e999999999999', '1e-999999999999', -1],
    ['1.10', '11e-1', 0],
    ['-0', '0', 0],
    ['-2', '-3', 1],
  ])('%s against %s', (left, right, wanted) => {
    expect(compareNumberLiterals(left, right)).toBe(wanted);
  });
});

describe('long numbers', () => {
  const zeros = '0'.repeat(100_000);

  it.each([
    ['5.', '1'],
    ['5', '1'],
    ['5', ''],
    ['0.', ''],
    ['1e', '1'],
  ])('%s0…0%s is read in linear time', (start, end) => {
    expect(typeof isIntegerLiteral(start + '0'.repeat(LONG_RUN) + end)).toBe('boolean');
  });

  it('keep their last digit', () => {
    expect([isIntegerLiteral(`5.${zeros}1`), isIntegerLiteral(`5${zeros}1`), isIntegerLiteral(`5.${zeros}`)]).toEqual([
      false,
      true,
      true,
    ]);
    expect(compareNumberLiterals(`5.${zeros}1`, '5')).toBe(1);
  });
});
