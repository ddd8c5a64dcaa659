import type { Issue } from '../errors.ts';
import { minimalBody } from '../fields/field.ts';
import { uuidV7 } from '../fields/uuid.ts';
import type { FlagValues } from '../flag.ts';
import { writeJson } from '../json/write-json.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import { type AutofillSettings, createAutofill } from './autofill.ts';
import { type BodyBase, type CommandInput, parseFileArguments, readBodyBase } from './body-base.ts';
import { createBodyCheck, invalidBodyFailure, stdinMessage } from './body-check.ts';
import { createDraft, type Draft, orderAddedFields, setDraftFields } from './draft.ts';
import { applyFlags, rejectInvalidFlags } from './flag-edits.ts';
import type { BodyDependencies, LabeledBytes } from './input-reader.ts';
import { emptyBodyJson, isIssue, isYamlFile, type JsonSource, objectIssue, parseJsonSource } from './json-source.ts';

interface BuildOptions {
  /** The values for absent fields; undefined for `--exact`. */
  readonly settings: AutofillSettings | undefined;
  /** The messages of `--conversation`. */
  readonly conversation: JsonSource | undefined;
  /** What the body starts from, if it was read before. */
  readonly base?: BodyBase;
}

/** A body that is ready to be checked, and the inputs that could not become part of it. */
export interface BuiltBody {
  readonly draft: Draft;
  readonly inputIssues: readonly Issue[];
}

/**
 * Builds the body of a request from a file or stdin, field flags, shorthands, `--set` and autofill, each changing only
 * the fields it names. Throws Failure: usage, `local_file` for files, `body` for a whole body that cannot be parsed.
 */
export async function buildBody(
  input: CommandInput,
  { settings, conversation, ...options }: BuildOptions,
  dependencies: BodyDependencies,
): Promise<BuiltBody> {
  const { operation, args, flags } = input;
  const target = flagTarget(operation);
  const base = options.base ?? (await readBodyBase(input, dependencies));
  const files = parseFileArguments(operation, args, flags);
  const source = base.whole && (await parseWholeBody(base.whole));
  const isInvalid = source !== undefined && isIssue(source);
  const stdinUse = base.whole?.isEmptyStdin ? 'empty' : base.isStdinUnread ? 'unread' : undefined;
  const empty = createDraft(isInvalid ? undefined : source, emptyBodyJson(target), stdinUse);
  const messages = { prompt: base.prompt, conversation };
  const { draft, issues } = await applyFlags(empty, operation, files.otherFlags, dependencies, messages, files.edits);
  if (isInvalid)
    throw invalidBodyFailure([source, ...issues], 0, stdinUse ? stdinMessage(stdinUse, operation) : yamlHint(source));
  const { now, randomBytes } = dependencies;
  const generators = { now, newId: () => uuidV7(now(), randomBytes(10)) };
  const added = settings ? createAutofill(target)(draft, settings, generators) : [];
  return {
    draft: orderAddedFields(setDraftFields(draft, target.path, added), target),
    inputIssues: issues,
  };
}

// Text that begins with a word, a comment or `---` may be YAML.
function yamlHint({ at, message }: Issue): string | undefined {
  return /:1:(1 invalid JSON: expected a value, found "[\w#]"|2 invalid JSON: a malformed number)$/.test(
    `${at} ${message}`,
  )
    ? 'a body is JSON, or YAML in a file whose name ends in .yaml or .yml: -f body.yaml'
    : undefined;
}

// Only a YAML body loads the library that reads it.
async function parseWholeBody({ label, bytes, issue, position }: LabeledBytes): Promise<JsonSource | Issue> {
  if (issue) return issue;
  const source = isYamlFile(label)
    ? (await import('./yaml-source.ts')).parseYamlSource(label, bytes)
    : parseJsonSource(label, bytes);
  if (isIssue(source)) return source;
  const located = position ? { ...source, position } : source;
  return objectIssue(located) ?? located;
}

/** A body to start from, and the warnings about it. */
interface Skeleton {
  readonly draft: Draft;
  readonly warnings: readonly Issue[];
}

/**
 * The smallest body of an operation that passes all checks, with the fields of flags. Throws as rejectInvalidFlags does,
 * and Failure `body` for values that are not valid, or that most servers reject.
 */
export async function buildSkeleton(
  operation: Operation,
  flags: FlagValues,
  dependencies: BodyDependencies,
): Promise<Skeleton> {
  rejectInvalidFlags(operation, flags, dependencies.now());
  const smallest = createDraft(undefined, writeJson(minimalBody(operation.body)));
  const applied = await applyFlags(smallest, operation, flags, dependencies);
  const draft = orderAddedFields(applied.draft, flagTarget(operation));
  const check = await createBodyCheck(operation, { isStrict: false, isAdviceStrict: true, isCheckDisabled: false });
  const { warnings, failure } = check(draft, applied.issues);
  if (failure) throw failure;
  return { draft, warnings };
}
