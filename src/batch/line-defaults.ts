import { Buffer } from 'node:buffer';
import { applyFlags } from '../body/apply-flags.ts';
import { invalidBodyFailure } from '../body/body-check.ts';
import { createDraft, type Draft, originInDraft, setDraftFields } from '../body/draft.ts';
import type { Edit } from '../body/edit.ts';
import { fieldEdits } from '../body/field-edits.ts';
import type { BodyDependencies } from '../body/input-reader.ts';
import { emptyBodyJson } from '../body/parsed-body.ts';
import { setFlagEdits } from '../body/set-flags.ts';
import { usageFailure } from '../errors.ts';
import type { FlagValues } from '../flag.ts';
import {
  firstStringMember,
  getMember,
  itemsAt,
  type JsonNode,
  membersOf,
  nodeAtPath,
  rawBytes,
  rootOf,
} from '../json/json-node.ts';
import { flagTarget, type Operation, type Shorthand } from '../operations/operation.ts';

/** The flags of a batch as defaults for fields that a line lacks. */
export interface LineDefaults {
  /** Fields of the object that flags fill. */
  readonly fieldEdits: readonly Edit[];
  /** Flags whose effect depends on the line: messages before or after its own, a field copied from another. */
  readonly perLineFlags: FlagValues;
}

/** The defaults of a batch without flags. */
export const NO_DEFAULTS: LineDefaults = { fieldEdits: [], perLineFlags: new Map() };

/**
 * Reads the flags of a batch once. Throws usage for flags that belong to one body, and Failure `body` for values that
 * cannot be read.
 */
export async function readLineDefaults(
  operation: Operation,
  flags: FlagValues,
  dependencies: BodyDependencies,
): Promise<LineDefaults> {
  const target = flagTarget(operation);
  const shorthands = Object.entries(operation.shorthands ?? {});
  const isPerLine = (name: string): boolean =>
    shorthands.some(([one, { kind }]) => one === name && PER_LINE_KINDS.has(kind));
  for (const [name, { kind }] of shorthands) {
    if (flags.has(name) && SINGLE_BODY_KINDS.has(kind))
      throw usageFailure(
        `--${name} sets up one body and cannot be combined with --batch`,
        'put the messages into the lines',
      );
  }
  const fieldResult = await fieldEdits(target, flags, dependencies);
  const setResult = setFlagEdits(operation, flags);
  const draft = setDraftFields(createDraft(undefined, emptyBodyJson(target)), target.path, fieldResult.edits);
  const sharedFlags = new Map([...flags].filter(([name]) => !isPerLine(name)));
  const applied = await applyFlags(draft, operation, sharedFlags, setResult.edits, {}, dependencies);
  const issues = [...fieldResult.issues, ...setResult.issues, ...applied.issues];
  if (issues.length > 0) throw invalidBodyFailure(issues);
  return {
    fieldEdits: editsForFields(applied.draft, target.path),
    perLineFlags: new Map([...flags].filter(([name]) => isPerLine(name))),
  };
}

/** True if the flags change a line. */
export function hasDefaults({ fieldEdits, perLineFlags }: LineDefaults): boolean {
  return fieldEdits.length + perLineFlags.size > 0;
}

/** The draft of a line with defaults for missing fields; existing fields stay. */
export async function applyLineDefaults(
  draft: Draft,
  operation: Operation,
  { fieldEdits, perLineFlags }: LineDefaults,
  dependencies: BodyDependencies,
): Promise<Draft> {
  const { path } = flagTarget(operation);
  const missingFields = fieldEdits.filter((edit) => !nodeAtPath(rootOf(draft.doc), edit.path));
  const filled = missingFields.length === 0 ? draft : setDraftFields(draft, path, missingFields);
  if (perLineFlags.size === 0) return filled;
  const body = rootOf(filled.doc);
  const shorthands = operation.shorthands ?? {};
  const applicableFlags = new Map(
    [...perLineFlags].filter(([name]) => isOmitted(shorthands[name], nodeAtPath(body, path))),
  );
  return (await applyFlags(filled, operation, applicableFlags, [], {}, dependencies)).draft;
}

const PER_LINE_KINDS: ReadonlySet<Shorthand['kind']> = new Set(['message', 'prefill', 'copy']);
const SINGLE_BODY_KINDS: ReadonlySet<Shorthand['kind']> = new Set(['attach', 'role-message', 'conversation']);

function editsForFields(draft: Draft, path: Edit['path']): Edit[] {
  const object = nodeAtPath(rootOf(draft.doc), path);
  return Array.from(object ? membersOf(object) : [], ({ key, value }) => {
    const fieldPath = [...path, key];
    return { path: fieldPath, text: Buffer.from(rawBytes(value)), origin: originInDraft(draft, fieldPath) };
  });
}

function isOmitted(shorthand: Shorthand | undefined, object: JsonNode | undefined): boolean {
  const messages = itemsAt(object, 'messages');
  switch (shorthand?.kind) {
    case 'message':
      return firstStringMember(messages[0], 'role') !== shorthand.role;
    case 'prefill':
      return firstStringMember(messages.at(-1), 'role') !== 'assistant';
    case 'copy':
      return !getMember(object, shorthand.to);
    default:
      return false;
  }
}
