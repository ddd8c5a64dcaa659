import { Buffer } from 'node:buffer';
import { applySets } from '../body/apply-sets.ts';
import { wrongBody } from '../body/check.ts';
import { type Draft, draftOf, originInDraft, setAll } from '../body/draft.ts';
import type { Edit } from '../body/edit.ts';
import { fieldEdits } from '../body/field-edits.ts';
import { setEdits } from '../body/set-edits.ts';
import { shorthandEdits } from '../body/shorthand-edits.ts';
import type { Tools } from '../body/tools.ts';
import { emptyBody } from '../body/whole.ts';
import { usage } from '../errors.ts';
import { type FlagValues, listOf } from '../fields/flag.ts';
import { bytesOf, itemsOf, type JsonNode, member, membersOf, rootOf, stringIn } from '../json/node.ts';
import { nodeAt } from '../json/path.ts';
import type { Operation } from '../operations/operation.ts';
import type { Shorthand } from '../operations/shorthand.ts';
import { targetOf } from '../operations/target.ts';

/** What the flags of a batch say for lines that do not say it themselves. */
export interface Defaults {
  /** Members of the object that flags fill. */
  readonly members: readonly Edit[];
  /** Flags whose effect depends on the line: messages put before or after its own, a member copied from another. */
  readonly perLine: FlagValues;
}

const noMessages = { prompt: undefined, conversation: undefined };

/**
 * Reads the flags of a batch once. Throws usage for those that make no sense for many bodies, and Failure `body` for
 * values that cannot be read.
 */
export async function readDefaults(operation: Operation, flags: FlagValues, tools: Tools): Promise<Defaults> {
  const target = targetOf(operation);
  const shorthands = Object.entries(operation.shorthands ?? {});
  const isPerLine = (name: string): boolean => shorthands.some(([one, { kind }]) => one === name && PER_LINE.has(kind));
  for (const [name, { kind }] of shorthands) {
    if (flags.has(name) && ONE_BODY.has(kind))
      throw usage(`--${name} belongs to one body, and --batch has many`, 'put it into the lines');
  }
  const fields = await fieldEdits(target, flags, tools);
  const sets = setEdits(target, listOf(flags, 'set'));
  const draft = setAll(draftOf(undefined, emptyBody(target)), target.path, fields.edits);
  const once = new Map([...flags].filter(([name]) => !isPerLine(name)));
  const others = await shorthandEdits(operation, draft, once, noMessages, tools);
  const set = applySets(setAll(draft, target.path, others.edits), sets.edits);
  const issues = [...fields.issues, ...others.issues, ...sets.issues, ...set.issues];
  if (issues.length > 0) throw wrongBody(issues);
  return {
    members: membersIn(set.draft, target.path),
    perLine: new Map([...flags].filter(([name]) => isPerLine(name))),
  };
}

/** The draft of a line with the defaults for what it leaves out, member by member: what the line says stays. */
export async function withDefaults(
  draft: Draft,
  operation: Operation,
  { members, perLine }: Defaults,
  tools: Tools,
): Promise<Draft> {
  const { path } = targetOf(operation);
  const absent = members.filter((edit) => !nodeAt(rootOf(draft.doc), edit.path));
  const filled = absent.length === 0 ? draft : setAll(draft, path, absent);
  if (perLine.size === 0) return filled;
  const body = rootOf(filled.doc);
  const shorthands = operation.shorthands ?? {};
  const wanted = new Map([...perLine].filter(([name]) => isLeftOut(shorthands[name], nodeAt(body, path))));
  const { edits } = await shorthandEdits(operation, filled, wanted, noMessages, tools);
  return setAll(filled, path, edits);
}

const PER_LINE: ReadonlySet<Shorthand['kind']> = new Set(['message', 'prefill', 'copy']);
const ONE_BODY: ReadonlySet<Shorthand['kind']> = new Set(['role-message', 'conversation']);

function membersIn(draft: Draft, path: Edit['path']): Edit[] {
  const object = nodeAt(rootOf(draft.doc), path);
  return Array.from(object ? membersOf(object) : [], ({ key, value }) => {
    const where = [...path, key];
    return { path: where, text: Buffer.from(bytesOf(value)), origin: originInDraft(draft, where) };
  });
}

function isLeftOut(shorthand: Shorthand | undefined, object: JsonNode | undefined): boolean {
  const list = member(object, 'messages');
  const messages = list ? Array.from(itemsOf(list)) : [];
  switch (shorthand?.kind) {
    case 'message':
      return stringIn(messages[0], 'role') !== shorthand.role;
    case 'prefill':
      return stringIn(messages.at(-1), 'role') !== 'assistant';
    case 'copy':
      return !member(object, shorthand.to);
    default:
      return false;
  }
}
