import type { JsonNode } from '../../json/node.ts';
import type { Spend } from './budget.ts';
import type { SchemaReader } from './schema-reader.ts';

// Readers that check formats would refuse an empty string.
const SAMPLES: ReadonlyMap<string, string> = new Map([
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

const LETTERS = 26;
const FIRST_LETTER = 97;

/** JSON texts of ever more strings, the shortest that some schemas allow first; of a known format only the sample. */
export function* strings(parts: readonly JsonNode[], reader: SchemaReader, spend: Spend): Generator<string> {
  for (const part of parts) {
    const sample = SAMPLES.get(reader.stringAt(part, 'format') ?? '');
    if (sample === undefined) continue;
    yield JSON.stringify(sample);
    return;
  }
  const length = reader.mostAt(parts, 'minLength');
  spend(length);
  if (length === 0) yield '""';
  for (let number = 0; ; number++) {
    spend(length);
    yield JSON.stringify(letters(number).padStart(length, 'a'));
  }
}

// The number to the base of 26: a, b, and after z ba.
function letters(number: number): string {
  const rest = number >= LETTERS ? letters(Math.floor(number / LETTERS)) : '';
  return rest + String.fromCharCode(FIRST_LETTER + (number % LETTERS));
}
