import type { JsonNode } from '../../../json/json-node.ts';
import type { SpendSteps } from '../step-budget.ts';
import type { SchemaReader } from './schema-reader.ts';

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

const LETTER_COUNT = 26;
const FIRST_LETTER_CODE = 97;

/** JSON texts of ever more strings, the shortest that some schemas allow first; of a known format only the sample. */
export function* generateStrings(
  parts: readonly JsonNode[],
  reader: SchemaReader,
  spend: SpendSteps,
): Generator<string> {
  for (const part of parts) {
    const sample = FORMAT_SAMPLES.get(reader.stringAt(part, 'format') ?? '');
    if (sample === undefined) continue;
    yield JSON.stringify(sample);
    return;
  }
  const length = reader.maxCountAt(parts, 'minLength');
  spend(length);
  if (length === 0) yield '""';
  for (let number = 0; ; number++) {
    spend(length);
    yield JSON.stringify(lettersFor(number).padStart(length, 'a'));
  }
}

// The number to the base of 26: a, b, and after z ba.
function lettersFor(number: number): string {
  const rest = number >= LETTER_COUNT ? lettersFor(Math.floor(number / LETTER_COUNT)) : '';
  return rest + String.fromCharCode(FIRST_LETTER_CODE + (number % LETTER_COUNT));
}
