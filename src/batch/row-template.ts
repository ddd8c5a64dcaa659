import { Buffer } from 'node:buffer';
import { bodyFlagNames } from '../body/body-base.ts';
import { invalidBodyFailure } from '../body/body-check.ts';
import { buildBody } from '../body/build-body.ts';
import type { BodyInputs } from '../body/input-reader.ts';
import { decodeLine, decodeUtf8Text } from '../body/json-source.ts';
import { usageFailure } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { type FlagValue, type FlagValues, getArrayFlag, getStringFlag } from '../flag.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';

/** The cells of a row. */
export interface Row {
  /** The text of a cell. */
  readonly text: (column: string) => string;
  /** The JSON value of a cell, as typed. Throws JsonError for a cell that is not JSON. */
  readonly json: (column: string) => string;
}

/** A body with placeholders: `{{column}}` is text, `{{column:json}}` a JSON value, `{{#}}` the number of the row. */
export interface RowTemplate {
  /** The columns that it names, with the flag that names each. */
  readonly columns: ReadonlyMap<string, string>;
  /** The flags that it was made from. */
  readonly flags: FlagValues;
  /** The body of a row on one line. Throws what the cells throw. */
  readonly render: (row: Row, number: number) => string;
}

interface Placeholder {
  readonly column: string;
  readonly isJson: boolean;
}

// JSON text of the body, or a placeholder: a whole value, or a part of a string.
type Segment = string | (Placeholder & { readonly isWhole: boolean });

const ROW_NUMBER = '#';
// The literal `{{`, a placeholder, or braces that are neither.
const BRACES = /\{\{(?:"(\{\{)"|\s*([^{}"]*?)\s*(:json)?)\}\}|\{\{/g;

/**
 * Builds the body that prompt and flags describe once, with a token for each placeholder: a cell can never become a flag, a file
 * name or a part of JSON. Files of `@file`, also of the prompt and of messages, have placeholders, too. Throws usage for braces that are no placeholder, and what
 * building a body throws.
 */
export async function buildRowTemplate(
  operation: Operation,
  args: readonly string[],
  flags: FlagValues,
  tools: BodyInputs,
): Promise<RowTemplate> {
  const placeholders: Placeholder[] = [];
  const columns = new Map<string, string>();
  const prefix = `svc${Buffer.from(tools.randomBytes(8)).toString('hex')}n`;
  const mark = (label: string, text: string): string => {
    const marked = text.replace(BRACES, (_, braces?: string, column?: string, json?: string) => {
      if (braces) return braces;
      if (!column)
        throw usageFailure(
          `${label} has {{ without a column`,
          'write {{column}}, {{column:json}} or {{#}}, and {{"{{"}} for the braces themselves',
        );
      if (column !== ROW_NUMBER && !columns.has(column)) columns.set(column, label);
      placeholders.push({ column, isJson: json !== undefined });
      return `${prefix}${placeholders.length - 1}z`;
    });
    return quoteJsonTokens(marked, prefix, placeholders);
  };
  // With rows, a long text is worth a file.
  const fromFile = async (value: string): Promise<string> => {
    if (!/^@[^\s{]+$/.test(value)) return value;
    const path = value.slice(1);
    return decodeLine(path, await tools.read(path));
  };
  const bodyFlags = new Set(bodyFlagNames(operation));
  const templateFlags = new Map([...flags].filter(([name]) => bodyFlags.has(name)));
  for (const [name, { kind }] of Object.entries(operation.shorthands ?? {})) {
    const text = kind === 'message' ? getStringFlag(flags, name) : undefined;
    if (text !== undefined) templateFlags.set(name, await fromFile(text));
  }
  const prompt = args.length > 0 ? await fromFile(args.join(' ')) : undefined;
  const markedFlags = new Map(Array.from(templateFlags, ([name, value]) => [name, markFlag(value, `--${name}`, mark)]));
  const read: BodyInputs['read'] = async (path) => {
    if (path.includes(prefix))
      throw usageFailure('a column cannot name a file', 'put the text of the file into the column');
    return Buffer.from(mark(path, decodeUtf8Text(path, await tools.read(path))));
  };
  const draft = await buildBody(
    { operation, args: [], flags: withNumbersSet(operation, markedFlags, prefix), isStdinTerminal: true },
    {
      settings: undefined,
      base: prompt === undefined ? {} : { prompt: mark('the prompt', prompt) },
    },
    { ...tools, read },
  );
  if (draft.issues.length > 0) throw invalidBodyFailure(draft.issues);
  const segments = splitBody(draft.doc.bytes.toString().replaceAll('\n', ' '), prefix, placeholders);
  return {
    columns,
    flags: prompt === undefined ? templateFlags : new Map([...templateFlags, ['prompt', prompt]]),
    render: (row, number) =>
      segments.map((segment) => (typeof segment === 'string' ? segment : renderCell(segment, row, number))).join(''),
  };
}

// `--temperature {{t}}` is `--set temperature:={{t:json}}`: the flag of a number takes no token.
function withNumbersSet(operation: Operation, flags: FlagValues, prefix: string): FlagValues {
  const token = new RegExp(`^"?${prefix}q?(\\d+)z"?$`);
  const sets = Object.entries(flagTarget(operation).fields).flatMap(([field, { type }]) => {
    const [, at] = token.exec(getStringFlag(flags, flagName(field)) ?? '') ?? [];
    return at !== undefined && (type === 'number' || type === 'integer') ? [[flagName(field), field, at] as const] : [];
  });
  const others = [...flags].filter(([name]) => !sets.some(([flag]) => flag === name));
  const added = sets.map(([, field, at]) => `${field}:="${prefix}q${at}z"`);
  return added.length > 0 ? new Map([...others, ['set', [...getArrayFlag(flags, 'set'), ...added]]]) : flags;
}

function markFlag(value: FlagValue, label: string, mark: (label: string, text: string) => string): FlagValue {
  if (typeof value === 'string') return mark(label, value);
  return Array.isArray(value) ? value.map((one: string) => mark(label, one)) : value;
}

// In JSON, a token outside of a string becomes a string; splitBody removes its quotes again.
function quoteJsonTokens(text: string, prefix: string, placeholders: readonly Placeholder[]): string {
  const start = text.search(/^\s*[[{]|:=/);
  if (start === -1 || !text.includes(prefix)) return text;
  let isInString = false;
  const quoted = text.slice(start).replace(new RegExp(`\\\\.|"|${prefix}(\\d+)z`, 'gs'), (found, at?: string) => {
    if (found === '"') isInString = !isInString;
    return at !== undefined && !isInString && placeholders[Number(at)]?.isJson ? `"${prefix}q${at}z"` : found;
  });
  return text.slice(0, start) + quoted;
}

function splitBody(json: string, prefix: string, placeholders: readonly Placeholder[]): Segment[] {
  const segments: Segment[] = [];
  let from = 0;
  // A token that is a whole string, with quotes of ours in a longer string, or a part of a string.
  const tokens = new RegExp(`"${prefix}q?(\\d+)z"(?!\\s*:)|\\\\"${prefix}q(\\d+)z\\\\"|${prefix}q?(\\d+)z`, 'g');
  for (const match of json.matchAll(tokens)) {
    const [found, whole, quoted, part] = match;
    const placeholder = placeholders[Number(whole ?? quoted ?? part)];
    if (!placeholder) continue;
    const isWhole = whole !== undefined && (placeholder.isJson || found.includes(`${prefix}q`));
    // The quotes of a string that is text stay.
    const quote = whole !== undefined && !isWhole ? '"' : '';
    segments.push(json.slice(from, match.index) + quote, { ...placeholder, isWhole }, quote);
    from = match.index + found.length;
  }
  return [...segments, json.slice(from)];
}

function renderCell({ column, isJson, isWhole }: Exclude<Segment, string>, row: Row, number: number): string {
  const text = column === ROW_NUMBER ? String(number) : isJson || isWhole ? row.json(column) : row.text(column);
  return isWhole ? text : JSON.stringify(text).slice(1, -1);
}
