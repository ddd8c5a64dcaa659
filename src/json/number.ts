/** A decimal number as written: 0.`digits` times ten to the `exponent`, without leading or trailing zeros. */
interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: bigint;
}

/** True when the JSON number in `text` has no fraction: `1.0`, `1e3` and `1e400` are integers, as in JSON Schema. */
export function isInteger(text: string): boolean {
  const { digits, exponent } = decimal(text);
  return exponent >= BigInt(digits.length);
}

/** Below, equal or above: -1, 0 or 1. Exact for every JSON number, whatever its size; never rounded to a double. */
export function compareNumbers(left: string, right: string): -1 | 0 | 1 {
  const a = decimal(left);
  const b = decimal(right);
  const signs = sign(a) - sign(b);
  if (signs !== 0) return signs < 0 ? -1 : 1;
  const size = compareSizes(a, b);
  return a.negative ? (size === 0 ? 0 : size === 1 ? -1 : 1) : size;
}

function decimal(text: string): Decimal {
  const [, minus, whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const all = whole + fraction;
  const leading = /^0*/.exec(all)?.[0].length ?? 0;
  const digits = all.slice(leading).replace(/0+$/, '');
  if (digits === '') return { negative: false, digits, exponent: 0n };
  return { negative: minus === '-', digits, exponent: BigInt(power) + BigInt(whole.length - leading) };
}

function sign(value: Decimal): number {
  if (value.digits === '') return 0;
  return value.negative ? -1 : 1;
}

function compareSizes(a: Decimal, b: Decimal): -1 | 0 | 1 {
  if (a.exponent !== b.exponent) return a.exponent < b.exponent ? -1 : 1;
  if (a.digits === b.digits) return 0;
  return a.digits < b.digits ? -1 : 1;
}
