/** True when the JSON number in `text` has no fraction: `1.0`, `1e3` and `1e400` are integers, as in JSON Schema. */
export function isIntegerLiteral(text: string): boolean {
  const { digits, exponent } = parseNumberLiteral(text);
  return exponent >= BigInt(digits.length);
}

/** Below, equal or above: -1, 0 or 1. Exact for every JSON number, whatever its size; never rounded to a double. */
export function compareNumberLiterals(left: string, right: string): -1 | 0 | 1 {
  const [a, b] = [parseNumberLiteral(left), parseNumberLiteral(right)];
  const [smaller, larger] = a.sign < 0 ? [b, a] : [a, b];
  return (
    compare(a.sign, b.sign) || compare(smaller.exponent, larger.exponent) || compare(smaller.digits, larger.digits)
  );
}

function compare<T extends number | bigint | string>(left: T, right: T): -1 | 0 | 1 {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

// 0.`digits` times ten to the `exponent`, without leading or trailing zeros.
function parseNumberLiteral(text: string) {
  const [, minus, whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const all = whole + fraction;
  const leading = /^0*/.exec(all)?.[0].length ?? 0;
  // The lookbehind keeps this linear: each run of zeros is tried once.
  const digits = all.slice(leading).replace(/(?<!0)0+$/, '');
  if (digits === '') return { sign: 0, digits, exponent: 0n };
  return { sign: minus ? -1 : 1, digits, exponent: BigInt(power) + BigInt(whole.length - leading) };
}
