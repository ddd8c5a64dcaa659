import { Buffer } from 'node:buffer';
import type { Issue } from '../errors.ts';
import { minimalBody } from '../fields/field.ts';
import { uuidV7 } from '../fields/uuid.ts';
import { writeJson } from '../json/write-json.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import { shellWord } from '../output/shell-quote.ts';
import { type AutofillSettings, createAutofill } from './autofill.ts';
import { type BodyBase, type CommandInput, fileArguments, readBodyBase } from './body-base.ts';
import { invalidBodyFailure, otherFile, stdinMessage } from './body-check.ts';
import { type BodyFlags, type BodyFormat, bodyFormat, otherBodyFormats } from './body-flags.ts';
import { createDraft, type Draft, orderAddedFields, setDraftFields } from './draft.ts';
import { applyFlags, rejectInvalidFlags } from './flag-edits.ts';
import type { BodyInputs, LabeledBytes } from './input-reader.ts';
import { emptyBodyJson, isIssue, type JsonSource, parseJsonSource, requireObject } from './json-source.ts';

interface BuildOptions {
  /** The values for absent fields; undefined for `--exact`. */
  readonly settings: AutofillSettings | undefined;
  readonly conversation?: JsonSource | undefined;
  /** That of a call whose id is a flag, if svc fills in no field yet. */
  readonly project?: string | undefined;
  readonly base?: BodyBase | undefined;
}

/** Builds a body. Throws Failure: usage, `local_file` for files, `body` for a whole body that cannot be parsed. */
export async function buildBody(input: CommandInput, options: BuildOptions, inputs: BodyInputs): Promise<Draft> {
  const { operation, given } = input;
  const { settings, conversation } = options;
  const target = flagTarget(operation);
  const { whole, prompt, isStdinUnread } = options.base ?? (await readBodyBase(input, inputs));
  // Empty stdin counts as an object without fields, and is checked like one.
  const isStdinEmpty = whole?.label === 'stdin' && whole.bytes.length === 0 && !whole.issue;
  const source = whole && (await parseWholeBody(isStdinEmpty ? { ...whole, bytes: Buffer.from('{}') } : whole));
  const isInvalid = source !== undefined && isIssue(source);
  const stdinUse = isStdinEmpty ? 'empty' : isStdinUnread ? 'unread' : undefined;
  const empty = createDraft(isInvalid || !source ? emptyBodyJson(target) : source);
  const project = options.project ?? settings?.project.text;
  const flagInput = { operation, given, inputs, prompt, conversation, project, files: fileArguments(input) };
  const draft = await applyFlags({ ...empty, stdinUse }, flagInput);
  if (isInvalid) {
    const hint = stdinUse ? stdinMessage(stdinUse, operation) : formatHint(source, operation, whole);
    throw invalidBodyFailure([source, ...draft.issues], 0, hint);
  }
  const { now, randomBytes } = inputs;
  const generators = { now, newId: () => uuidV7(now(), randomBytes(10)) };
  const added = settings ? createAutofill(target)(draft, settings, generators) : [];
  return orderAddedFields(setDraftFields(draft, target, added), target);
}

function formatHint({ resembles }: Issue, operation: Operation, whole: LabeledBytes | undefined): string | undefined {
  if (!whole) return undefined;
  const { label } = whole;
  const file = label === 'stdin' ? '-' : shellWord(label);
  if (/\.(?:csv|tsv)$/i.test(label)) return `to send the rows of a table, write --rows ${file}`;
  if (resembles === 'lines' && typeof operation.arguments?.as === 'object')
    return `to send its lines in one request, leave out -f; to send a request for each line, write --batch ${file}`;
  if (resembles === 'lines')
    return otherFile(firstLine(whole), operation)?.hint ?? `to send a request for each line, write --batch ${file}`;
  if (resembles !== 'text') return undefined;
  const text =
    operation.arguments?.as === 'prompt' && /\.(?:txt|md|rst|log|html?)$/i.test(label)
      ? `; for text in the prompt, write --attach ${file}`
      : '';
  const others = otherBodyFormats((suffixes) => `a file whose name ends in ${suffixes.join(' or ')}`);
  return `a body is JSON, or ${others}: -f body.yaml${text}`;
}

function firstLine({ label, bytes }: LabeledBytes): JsonSource | undefined {
  const source = parseJsonSource(label, bytes.subarray(0, bytes.indexOf(0x0a)));
  return isIssue(source) ? undefined : source;
}

const parsers: {
  readonly [format in BodyFormat]: (
    label: string,
    bytes: Uint8Array,
  ) => JsonSource | Issue | Promise<JsonSource | Issue>;
} = {
  JSON: parseJsonSource,
  YAML: async (label, bytes) => (await import('./yaml-source.ts')).parseYamlSource(label, bytes),
};

async function parseWholeBody({ label, bytes, issue, position }: LabeledBytes): Promise<JsonSource | Issue> {
  if (issue) return issue;
  const source = await parsers[bodyFormat(label)](label, bytes);
  if (isIssue(source)) return source;
  return requireObject(position ? { ...source, position } : source);
}

/** The smallest body of an operation that passes all checks, with the fields of flags. Throws as rejectInvalidFlags does. */
export async function buildSkeleton(operation: Operation, given: BodyFlags, inputs: BodyInputs): Promise<Draft> {
  rejectInvalidFlags(operation, given, inputs.now());
  const smallest = createDraft(writeJson(minimalBody(operation.body)));
  return orderAddedFields(await applyFlags(smallest, { operation, given, inputs }), flagTarget(operation));
}
