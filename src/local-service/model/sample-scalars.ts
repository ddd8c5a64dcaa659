import type { AnySchemaObject } from 'ajv';

// Readers that check formats would refuse an empty string.
const FORMAT_SAMPLES: ReadonlyMap<string, string> = new Map([
  ['date-time', '1970-01-01T00:00:00Z'],
  ['date', '1970-01-01'],
  ['time', '00:00:00Z'],
  ['duration', 'P1D'],
  ['uuid', '00000000-0000-0000-0000-000000000000'],
  ['email', 'a@example.com'],
  ['hostname', 'example.com'],
  ['ipv4', '0.0.0.0'],
  ['ipv6', '::'],
  ['uri', 'http://example.com'],
]);

const LETTERS_BASE = 26;
const DIGITS_OFFSET = 10;
const MAX_EXACT_DIGITS = 15;

/** Strings of the least length that some schemas allow, then other ones; of a known format only its sample. */
export function* sampleStrings(parts: readonly AnySchemaObject[], spend: (chars: number) => void): Generator<string> {
  const sample = parts.map(({ format }) => FORMAT_SAMPLES.get(format)).find((text) => text !== undefined);
  if (sample !== undefined) return yield sample;
  const length = Math.max(0, ...parts.map((part) => part.minLength ?? 0));
  if (length === 0) yield '';
  for (let number = 0; ; number++) {
    spend(length);
    yield lettersFor(number).padStart(length, 'a');
  }
}

/** Numbers within the bounds of some schemas, the one nearest to the lower bound, or else to 0, first. */
export function* sampleNumbers(parts: readonly AnySchemaObject[], isInteger: boolean): Generator<number> {
  const valuesOf = (keyword: string): number[] => parts.flatMap((part) => part[keyword] ?? []);
  const lows = [...valuesOf('minimum'), ...valuesOf('exclusiveMinimum')];
  const highs = [...valuesOf('maximum'), ...valuesOf('exclusiveMaximum')];
  const low = lows.length > 0 ? Math.max(...lows) : undefined;
  const high = highs.length > 0 ? Math.min(...highs) : undefined;
  const step = Math.max(...valuesOf('multipleOf'), isInteger ? 1 : 0) || undefined;
  if (step === undefined) {
    yield low ?? Math.min(0, high ?? 0);
    if (low !== undefined && high !== undefined) yield (low + high) / 2;
  }
  const size = step ?? 1;
  const isDownward = low === undefined && high !== undefined;
  const first = isDownward ? Math.floor(Math.min(0, high) / size) : Math.ceil((low ?? 0) / size);
  for (let count = 0; ; count++) {
    // Without the error of the last digits: 3 × 0.1 is 0.3.
    yield Number(((first + (isDownward ? -count : count)) * size).toPrecision(MAX_EXACT_DIGITS));
  }
}

// The number to the base of 26: a, b, and after z ba.
function lettersFor(number: number): string {
  const rest = number >= LETTERS_BASE ? lettersFor(Math.floor(number / LETTERS_BASE)) : '';
  return rest + ((number % LETTERS_BASE) + DIGITS_OFFSET).toString(DIGITS_OFFSET + LETTERS_BASE);
}
