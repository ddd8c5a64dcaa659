/** An exact decimal: `units` divided by ten to the `scale`. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

// Beyond every double; more would only be a way to make the service calculate.
const MAX_DIGITS = 400;

/** The value of a JSON number without losing a digit; undefined where it has too many to calculate with. */
export function parseDecimal(text: string): Decimal | undefined {
  const [match, whole = '', fraction = '', power = '0'] = /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (match === undefined) return undefined;
  const scale = fraction.length - Number(power);
  if (Math.abs(scale) > MAX_DIGITS || whole.length + fraction.length > MAX_DIGITS) return undefined;
  const units = BigInt(whole + fraction);
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale };
}

/** The units of a decimal at a scale that is at least its own. */
export function unitsAtScale({ units, scale }: Decimal, targetScale: number): bigint {
  return units * 10n ** BigInt(targetScale - scale);
}

/** The shortest JSON number of a decimal, written without an exponent. */
export function formatDecimal({ units, scale }: Decimal): string {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - scale);
  return `${units < 0n ? '-' : ''}${whole}${scale > 0 && fraction !== '' ? `.${fraction}` : ''}`;
}

/** True when `value` is a multiple of `step`, which is not 0. */
export function isMultipleOf(value: Decimal, step: Decimal): boolean {
  const scale = Math.max(value.scale, step.scale);
  return unitsAtScale(value, scale) % unitsAtScale(step, scale) === 0n;
}

/** The least common multiple of two positive numbers. */
export function leastCommonMultiple(left: bigint, right: bigint): bigint {
  let [a, b] = [left, right];
  while (b !== 0n) [a, b] = [b, a % b];
  return (left / a) * right;
}
