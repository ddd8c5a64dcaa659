import { type Issue, usageFailure } from '../errors.ts';
import type { Field } from '../fields/field.ts';
import { type FlagValues, getArrayFlag } from '../flag.ts';
import { JsonPathError } from '../json/edit.ts';
import { formatJsonPath, type JsonPath, parseJsonPath } from '../json/json-node.ts';
import { type FlagTarget, flagTarget, type Operation } from '../operations/operation.ts';
import { type Draft, setDraftPath } from './draft.ts';
import { collectEdits, type Edit, type EditResult } from './edit.ts';
import { isIssue, parseJsonSource } from './json-source.ts';
import { shorthandFields } from './shorthand-edits.ts';

/**
 * The edits of `--set path=text` and `--set path:=json`. Paths start in the object that flags fill; for a call
 * `start.op_name` and `op_name` are the same, and `start` is the whole object. Throws usage for an invalid path, and
 * for a field that a shorthand sets, too.
 */
export function setFlagEdits(operation: Operation, flags: FlagValues): EditResult {
  const target = flagTarget(operation);
  const result = collectEdits(getArrayFlag(flags, 'set').map((word) => parseSetFlag(target, word)));
  const setFields = new Set(result.edits.map(({ path }) => formatJsonPath(path)));
  for (const [name, shorthand] of Object.entries(operation.shorthands ?? {})) {
    const field = flags.has(name) ? shorthandFields(shorthand).find((one) => setFields.has(one)) : undefined;
    if (field !== undefined) throw usageFailure(`--${name} and --set ${field} set the same field`, 'give one of them');
  }
  return result;
}

function parseSetFlag(target: FlagTarget, word: string): Edit | Issue {
  const [, left = '', colon = '', right] = /^((?:\\.|[^\\=:]|:(?!=))*)(:?)=(.*)$/s.exec(word) ?? [];
  const inner = parseJsonPath(left);
  if (right === undefined || !inner) {
    const [name = ''] = /\w+/.exec(word) ?? [];
    rejectSecret(target.fields[name], name);
    const missing = right === undefined ? '=' : left === '' ? 'path before the =' : undefined;
    throw usageFailure(
      missing
        ? `--set ${JSON.stringify(word)} has no ${missing}`
        : `--set: ${JSON.stringify(left)} is not a valid path`,
      'write path=text or path:=json, such as payload.score:=0.9',
    );
  }
  const path = fullPath(target, inner);
  rejectSecret(target.fields[String(inner[0])], left);
  const label = `--set ${left}`;
  if (colon === '') return { path, text: JSON.stringify(right), origin: { label } };
  const source = parseJsonSource(label, right);
  return isIssue(source) ? source : { path, text: right.trim(), origin: { label, source } };
}

function fullPath({ path, fields }: FlagTarget, inner: JsonPath): JsonPath {
  const [outer] = path;
  const isFull = outer !== undefined && inner[0] === outer && !Object.hasOwn(fields, String(outer));
  return isFull ? inner : [...path, ...inner];
}

function rejectSecret(field: Field | undefined, name: string): void {
  if (field?.isSecret)
    throw usageFailure(`--set ${name}: a secret cannot be an argument`, `write --${name.replaceAll('_', '-')} @file`);
}

/** Applies the edits of `--set` in order; returns the draft, and an issue for each path that does not fit the body. */
export function applySetFlags(draft: Draft, edits: readonly Edit[]): { draft: Draft; issues: Issue[] } {
  const issues: Issue[] = [];
  const editedDraft = edits.reduce((before, edit) => {
    try {
      return setDraftPath(before, edit);
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      issues.push({ path: formatJsonPath(edit.path), at: edit.origin.label, message: error.message });
      return before;
    }
  }, draft);
  return { draft: editedDraft, issues };
}
