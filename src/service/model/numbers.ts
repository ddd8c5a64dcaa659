import type { JsonNode } from '../../json/node.ts';
import { leastCommonMultiple, unitsAt, writeDecimal } from './decimal.ts';
import type { SchemaReader } from './schema-reader.ts';

/** JSON texts of ever more numbers within the bounds of some schemas, the smallest first; one even if there is none. */
export function* numbers(parts: readonly JsonNode[], isWhole: boolean, reader: SchemaReader): Generator<string> {
  const all = (name: string) => parts.flatMap((part) => reader.decimalAt(part, name) ?? []);
  const [minima, above, maxima, below, steps] = [
    all('minimum'),
    all('exclusiveMinimum'),
    all('maximum'),
    all('exclusiveMaximum'),
    all('multipleOf').filter(({ units }) => units > 0n),
  ];
  // One digit more than any bound has, so that there are numbers between two of them.
  const scale = 1 + Math.max(0, ...[minima, above, maxima, below, steps].flat().map((one) => one.scale));
  const whole = 10n ** BigInt(scale);
  const limits = minima.map((one) => unitsAt(one, scale));
  const low = largest([...limits, ...above.map((one) => unitsAt(one, scale) + 1n)]);
  const high = smallest([...maxima.map((one) => unitsAt(one, scale)), ...below.map((one) => unitsAt(one, scale) - 1n)]);
  const declared = [...steps.map((one) => unitsAt(one, scale)), ...(isWhole ? [whole] : [])];
  const write = (units: bigint): string => writeDecimal({ units, scale });
  if (declared.length > 0) {
    for (const units of multiples(declared.reduce(leastCommonMultiple), low, high)) yield write(units);
  } else {
    if (low !== undefined && limits.includes(low)) yield write(low);
    for (const step of [whole, 1n]) for (const units of multiples(step, low, high)) yield write(units);
  }
  yield write(low ?? high ?? 0n);
}

function* multiples(step: bigint, low: bigint | undefined, high: bigint | undefined): Generator<bigint> {
  if (low === undefined) {
    const first = high !== undefined && high < 0n ? -roundedUp(-high, step) : 0n;
    for (let units = first; ; units -= step) yield units;
  }
  for (let units = roundedUp(low, step); high === undefined || units <= high; units += step) yield units;
}

function roundedUp(units: bigint, step: bigint): bigint {
  const rest = ((units % step) + step) % step;
  return rest === 0n ? units : units + step - rest;
}

function largest(values: readonly bigint[]): bigint | undefined {
  return values.reduce<bigint | undefined>((best, one) => (best === undefined || one > best ? one : best), undefined);
}

function smallest(values: readonly bigint[]): bigint | undefined {
  return values.reduce<bigint | undefined>((best, one) => (best === undefined || one < best ? one : best), undefined);
}
