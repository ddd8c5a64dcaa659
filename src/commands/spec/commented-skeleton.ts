import { type Field, type Fields, type Shape, sampleValue } from '../../fields/field.ts';
import { describeShape } from '../../fields/mismatch-message.ts';
import { isRecord } from '../../json/is-record.ts';
import { rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { type JsonValue, writeJson } from '../../json/write-json.ts';
import type { Operation } from '../../operations/operation.ts';
import { yamlChunks } from '../../results/format-yaml.ts';

/**
 * A YAML body with every field of an operation and a comment above each. Required fields hold a sample; the others are
 * comments, so that the file is a valid body.
 */
export function commentedYaml(operation: Operation): string {
  const title = `# ${titleOf(operation)}`;
  return `${[title, '# Remove the # of the fields you need.', ...fieldLines(operation.body, '')].join('\n')}\n`;
}

/** The same as JSONC, with all fields set: without its comment lines it is a valid body. */
export function commentedJson(operation: Operation): string {
  const title = [
    `// ${titleOf(operation)}`,
    '// Remove the fields you do not need, and the comments: the body is JSON.',
  ];
  return `${[...title, ...objectLines(operation.body, {}, '')].join('\n')}\n`;
}

function titleOf({ command, summary }: Operation): string {
  return `Body of svc ${command.join(' ')}: ${summary.toLowerCase()}`;
}

// The fields that a client may set; first those that the interface or most servers require.
function orderedFields(fields: Fields): [string, Field][] {
  const settable = Object.entries(fields).filter(([, field]) => !field.isReadOnly);
  return [...settable.filter(([, field]) => isNeeded(field)), ...settable.filter(([, field]) => !isNeeded(field))];
}

function isNeeded({ required, advice }: Field): boolean {
  return required === true || advice?.required === true;
}

function fieldLines(fields: Fields, indentation: string): string[] {
  return orderedFields(fields).flatMap(([name, field]) => [
    '',
    `${indentation}# ${commentText(field)}`,
    ...valueLines(name, field, indentation, !isNeeded(field)),
  ]);
}

function commentText(field: Field): string {
  const notes = [
    describeShape(field),
    ...(isNeeded(field) ? ['required'] : []),
    ...(field.default === undefined ? [] : [`default: ${writeJson(field.default)}`]),
    ...(field.deprecated ? [`deprecated: use ${field.deprecated}`] : []),
  ];
  return `${field.summary} (${notes.join('; ')})`;
}

function valueLines(name: string, field: Field, indentation: string, isComment: boolean): string[] {
  if (field.type === 'object' && field.fields && field.sample === undefined && !isComment)
    return [`${indentation}${name}:`, ...fieldLines(field.fields, `${indentation}  `)];
  const root = rootOf(parseJson(writeJson({ [name]: sampleValue(field) })));
  const lines = Array.from(yamlChunks(root)).join('').trimEnd().split('\n');
  return lines.map((line) => `${indentation}${isComment ? '# ' : ''}${line}`);
}

// An object with every field and a comment above each; `values` are used before the samples of the fields.
function objectLines(
  fields: Fields,
  values: { readonly [name: string]: JsonValue | undefined },
  indentation: string,
): string[] {
  const inner = `${indentation}  `;
  const ordered = orderedFields(fields);
  const entries = ordered.flatMap(([name, field], index) => {
    const [first = '', ...rest] = jsonLines(field, values[name] ?? sampleValue(field), inner);
    const lines = [`${inner}${JSON.stringify(name)}: ${first.trimStart()}`, ...rest];
    return [`${inner}// ${commentText(field)}`, ...(index === ordered.length - 1 ? lines : withComma(lines))];
  });
  return [`${indentation}{`, ...entries, `${indentation}}`];
}

// A value; in objects with known fields, and in the first element of an array of such, every field has its comment.
function jsonLines(shape: Shape, value: JsonValue, indentation: string): string[] {
  if (shape.type === 'object' && shape.fields)
    return objectLines(shape.fields, isRecord(value) ? value : {}, indentation);
  if (shape.type === 'list' && Array.isArray(value) && value.length > 0) {
    const elements = value.map((element, index) =>
      index === 0 ? jsonLines(shape.of, element, `${indentation}  `) : [`${indentation}  ${writeJson(element)}`],
    );
    const lines = elements.flatMap((element, index) => (index === elements.length - 1 ? element : withComma(element)));
    return [`${indentation}[`, ...lines, `${indentation}]`];
  }
  return [`${indentation}${writeJson(value)}`];
}

function withComma(lines: readonly string[]): string[] {
  return [...lines.slice(0, -1), `${lines.at(-1)},`];
}
