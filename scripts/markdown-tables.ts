import { capitalizeSentence } from '../src/cli/docs/help-page.ts';
import { type Field, type Fields, type Shape, shownBounds } from '../src/fields/field.ts';
import { stringFormats } from '../src/fields/string-formats.ts';
import { writeJson } from '../src/json/write-json.ts';

/** The fields of an object and of all objects in it, as a Markdown table. */
export function fieldTable(fields: Fields): string {
  return markdownTable(['field', 'type', 'notes'], fieldRows(fields, ''));
}

/** The paths of the fields that existing servers accept beyond the interface, as Markdown code. */
export function acceptedFieldsText(shape: Shape, name = ''): string[] {
  if (shape.type === 'list') return acceptedFieldsText(shape.of, `${name}[]`);
  if (shape.type !== 'object') return [];
  const prefix = name === '' ? '' : `${name}.`;
  const own = Object.keys(shape.accepted ?? {}).map((one) => `\`${prefix}${one}\``);
  const inner = Object.entries(shape.fields ?? {}).flatMap(([one, field]) => acceptedFieldsText(field, prefix + one));
  return [...own, ...inner];
}

function fieldRows(fields: Fields, prefix: string): string[][] {
  return Object.entries(fields).flatMap(([name, field]) => [
    [`\`${prefix}${name}\``, typeText(field), fieldNotes(field)],
    ...nestedRows(field, `${prefix}${name}`),
  ]);
}

function nestedRows(shape: Shape, name: string): string[][] {
  if (shape.type === 'list') return nestedRows(shape.of, `${name}[]`);
  return shape.type === 'object' && shape.fields ? fieldRows(shape.fields, `${name}.`) : [];
}

function typeText(shape: Shape): string {
  const name = typeName(shape);
  return shape.nullable ? `${name} or null` : name;
}

function typeName(shape: Shape): string {
  if (shape.type === 'list') return shape.of.type === 'json' ? 'array' : `array of ${elementText(shape.of)}`;
  if (shape.type === 'either') return shape.of.map(typeText).join(' or ');
  return shape.type === 'json' ? 'any JSON' : shape.type;
}

function elementText(shape: Shape): string {
  return shape.nullable || shape.type === 'either' ? `(${typeText(shape)})` : typeText(shape);
}

function fieldNotes(field: Field): string {
  const { required, deprecated, isReadOnly, advice = {} } = field;
  const { min, max } = shownBounds(field);
  return [
    required ? '**Required.**' : advice.required ? '**Required by most servers.**' : '',
    `${summaryText(field)}.`,
    field.type === 'string' && field.oneOf ? `One of ${field.oneOf.map((value) => `\`${value}\``).join(', ')}.` : '',
    field.type === 'string' && field.format ? `${capitalizeSentence(stringFormats[field.format].description)}.` : '',
    min === undefined ? '' : `From ${min} to ${max}.`,
    field.default === undefined ? '' : `Default \`${writeJson(field.default)}\`.`,
    deprecated ? `Deprecated: use ${deprecated}.` : '',
    isReadOnly ? 'Read-only.' : '',
    field.fill ? `${fillNotes[field.fill]}.` : '',
  ]
    .filter((note) => note !== '')
    .join(' ');
}

// Values that svc fills in have a separate note.
function summaryText({ summary, defaultsTo, fill }: Field): string {
  return fill || defaultsTo === undefined ? summary : `${summary} (default: ${defaultsTo})`;
}

const fillNotes = {
  'call-id': 'Default: a new id, unless `--exact`',
  'trace-id': 'Default: the trace of `TRACEPARENT`, else a new id, unless `--exact`',
  'parent-id': 'Default: the parent in `TRACEPARENT`, unless `--exact`',
  now: 'Default: the current time, unless `--exact`',
  empty: 'Default: `{}`, unless `--exact`',
  project: 'Default: the project of `SVC_PROJECT_ID`, `.svc.json` or the profile, unless `--exact`',
  model: 'Default: the model of `SVC_MODEL`, `.svc.json` or the profile, unless `--exact`',
} as const;

/** A Markdown table. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

function escapeCell(cell: string): string {
  const plain = cell.replaceAll('|', '\\|');
  return plain.startsWith('`') ? plain : escapeTags(plain);
}

/** Prose without tags: outside of code an angle bracket would start one. */
export function escapeTags(text: string): string {
  return text.replace(/`[^`]*`|</g, (part) => (part === '<' ? '\\<' : part));
}
