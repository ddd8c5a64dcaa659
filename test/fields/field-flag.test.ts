import { expect, it } from 'vitest';
import { type Field, fieldFlag } from '../../src/fields/field.ts';
import { flagTerm } from '../../src/flag.ts';

it.each([
  [['low', 'high'], '<low|high>', ''],
  [['balanced', 'thorough', 'exhaustive'], '<balanced|…>', 'balanced, thorough, exhaustive'],
  [['a-single-value-of-this-length', 'b'], '<value>', 'a-single-value-of-this-length, b'],
])(
  'the placeholder of a choice of %j fits into 40 columns, and the summary has what it lacks',
  (oneOf, value, note) => {
    const field: Field = { type: 'string', oneOf, summary: 'Depth' };
    const flag = fieldFlag('reasoning_verbosity', field);
    expect(flag).toMatchObject({ value, summary: note ? `Depth (${note})` : 'Depth', offers: oneOf });
    expect(`  ${flagTerm(flag)}`.length).toBeLessThanOrEqual(40);
    expect(`  ${flagTerm(fieldFlag('reasoning_verbosity', { ...field, short: 'r' }))}`.length).toBeLessThanOrEqual(40);
  },
);
