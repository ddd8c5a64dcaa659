import type { JsonNode } from '../../../json/json-node.ts';
import { formatDecimal, leastCommonMultiple, unitsAtScale } from './decimal.ts';
import type { SchemaReader } from './schema-reader.ts';

/** JSON texts of ever more numbers within the bounds of some schemas, the smallest first; one even if there is none. */
export function* generateNumbers(
  parts: readonly JsonNode[],
  isInteger: boolean,
  reader: SchemaReader,
): Generator<string> {
  const decimalsAt = (name: string) => parts.flatMap((part) => reader.decimalAt(part, name) ?? []);
  const [minima, exclusiveMinima, maxima, exclusiveMaxima, steps] = [
    decimalsAt('minimum'),
    decimalsAt('exclusiveMinimum'),
    decimalsAt('maximum'),
    decimalsAt('exclusiveMaximum'),
    decimalsAt('multipleOf').filter(({ units }) => units > 0n),
  ];
  // One digit more than any bound has, so that there are numbers between two of them.
  const scale =
    1 + Math.max(0, ...[minima, exclusiveMinima, maxima, exclusiveMaxima, steps].flat().map((one) => one.scale));
  const whole = 10n ** BigInt(scale);
  const limits = minima.map((one) => unitsAtScale(one, scale));
  const low = maxBigint([...limits, ...exclusiveMinima.map((one) => unitsAtScale(one, scale) + 1n)]);
  const high = minBigint([
    ...maxima.map((one) => unitsAtScale(one, scale)),
    ...exclusiveMaxima.map((one) => unitsAtScale(one, scale) - 1n),
  ]);
  const requiredSteps = [...steps.map((one) => unitsAtScale(one, scale)), ...(isInteger ? [whole] : [])];
  const write = (units: bigint): string => formatDecimal({ units, scale });
  if (requiredSteps.length > 0) {
    for (const units of multiples(requiredSteps.reduce(leastCommonMultiple), low, high)) yield write(units);
  } else {
    if (low !== undefined && limits.includes(low)) yield write(low);
    for (const step of [whole, 1n]) for (const units of multiples(step, low, high)) yield write(units);
  }
  yield write(low ?? high ?? 0n);
}

function* multiples(step: bigint, low: bigint | undefined, high: bigint | undefined): Generator<bigint> {
  if (low === undefined) {
    const first = high !== undefined && high < 0n ? -roundUp(-high, step) : 0n;
    for (let units = first; ; units -= step) yield units;
  }
  for (let units = roundUp(low, step); high === undefined || units <= high; units += step) yield units;
}

function roundUp(units: bigint, step: bigint): bigint {
  const rest = ((units % step) + step) % step;
  return rest === 0n ? units : units + step - rest;
}

function maxBigint(values: readonly bigint[]): bigint | undefined {
  return values.reduce<bigint | undefined>((best, one) => (best === undefined || one > best ? one : best), undefined);
}

function minBigint(values: readonly bigint[]): bigint | undefined {
  return values.reduce<bigint | undefined>((best, one) => (best === undefined || one < best ? one : best), undefined);
}
