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

const UNIT_FACTORS: { readonly [unit: string]: number } = { '': 1, '%': 0.01, k: 1000, K: 1000, M: 1_000_000 };

/** The JSON numbers that a person likely means: 0.7 by `0,7`, 0.95 by `95%`, 0.5 by `½`, 4000 by `4k`; of `1,000` there are two. */
export function likelyNumbers(text: string): string[] {
  const plain = text
    .trim()
    .normalize('NFKC')
    .replace(/^(["'])(.+)\1$/, '$2')
    .replace('\u2212', '-');
  const [, over, under] = /^(\d+)[/\u2044](\d+)$/.exec(/\d\p{No}/u.test(text) ? '' : plain) ?? [];
  if (over) return finiteNumber(Number(over) / Number(under));
  if (/^0x[\da-f]+$/i.test(plain)) return finiteNumber(Number(plain));
  const [, minus, digits, power = '', unit = ''] =
    /^(?:\+|(-))?([\d.,][\d.,_' ]*)(e[+-]?\d+)?\s?([%kKM]?)$/i.exec(plain) ?? [];
  const factor = UNIT_FACTORS[unit];
  if (digits === undefined || factor === undefined) return [];
  const forms = decimalForms(digits.replace(/[_' ]/g, '')).map((form) => `${minus ?? ''}${form}`);
  if (power + unit === '') return forms;
  return forms.flatMap((form) => finiteNumber(Number(form + power) * factor));
}

function finiteNumber(value: number): string[] {
  return Number.isFinite(value) ? [String(Number(value.toPrecision(15)))] : [];
}

// With a point as the only mark, before decimals that are not all 0.
function decimalForms(digits: string): string[] {
  const grouped = /^[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*$/.test(digits) ? [digits.replace(/[.,]/g, '')] : [];
  const [, whole = digits, mark, fraction = ''] = /^(.*)([.,])(\d*)$/.exec(digits) ?? [];
  const other = mark === '.' ? ',' : '.';
  const isWhole = /^\d*$/.test(whole) || (/^\d{1,3}([.,])\d{3}(?:\1\d{3})*$/.test(whole) && whole.includes(other));
  const decimal = `${whole.replaceAll(other, '').replace(/^0*(?=\d)/, '') || '0'}.${fraction}`.replace(/\.0*$/, '');
  return isWhole && /\d/.test(digits) ? [...grouped, decimal] : grouped;
}
