import type { Field, Fields } from '../../fields/field.ts';
import { describeShape } from '../../fields/mismatch-message.ts';
import { sampleValue } from '../../fields/sample.ts';
import { rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { type JsonValue, writeJson } from '../../json/write-json.ts';
import type { Operation } from '../../operations/operation.ts';
import { yamlChunks } from '../../results/format-yaml.ts';

/**
 * A YAML body with every field of an operation and a comment above each. Required fields hold a sample; the others are
 * comments, so that the file is a valid body as it is.
 */
export function commentedSkeleton(operation: Operation): string {
  const title = `# Body of svc ${operation.command.join(' ')}: ${operation.summary.toLowerCase()}`;
  return `${[title, '# Remove the # of the fields you need.', ...fieldLines(operation.body, '', false)].join('\n')}\n`;
}

function fieldLines(fields: Fields, indentation: string, isComment: boolean): string[] {
  const settable = Object.entries(fields).filter(([, field]) => !field.filledByService);
  const isNeeded = (field: Field): boolean => field.required === true || field.advice?.required === true;
  const ordered = [
    ...settable.filter(([, field]) => isNeeded(field)),
    ...settable.filter(([, field]) => !isNeeded(field)),
  ];
  return ordered.flatMap(([name, field]) => [
    '',
    ...commentLines(field, isNeeded(field)).map((line) => `${indentation}# ${line}`),
    ...valueLines(name, field, indentation, isComment || !isNeeded(field)),
  ]);
}

function commentLines(field: Field, isNeeded: boolean): string[] {
  const notes = [
    describeShape(field),
    ...(isNeeded ? ['required'] : []),
    ...(field.default === undefined ? [] : [`default: ${writeJson(field.default)}`]),
    ...(field.deprecated ? [`deprecated: ${field.deprecated}`] : []),
  ];
  return [`${field.summary} (${notes.join('; ')})`];
}

function valueLines(name: string, field: Field, indentation: string, isComment: boolean): string[] {
  if (field.type === 'object' && field.fields && field.sample === undefined && !isComment)
    return [`${indentation}${name}:`, ...fieldLines(field.fields, `${indentation}  `, false)];
  const lines = yamlText({ [name]: sampleValue(field) })
    .trimEnd()
    .split('\n');
  return lines.map((line) => `${indentation}${isComment ? '# ' : ''}${line}`);
}

function yamlText(value: JsonValue): string {
  return Array.from(yamlChunks(rootOf(parseJson(writeJson(value))))).join('');
}
