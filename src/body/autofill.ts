import type { Field } from '../fields/field.ts';
import {
  getMember,
  isPathWithin,
  isTrue,
  type JsonNode,
  type JsonPath,
  kindOf,
  nodeAtPath,
  rootOf,
} from '../json/json-node.ts';
import type { FlagTarget } from '../operations/operation.ts';
import type { Draft, Edit, ValueOrigin } from './draft.ts';

/** A value from the environment, `.svc.json` or the profile for a field that a body does not have, and its source. */
export interface AutofillSetting {
  readonly text: string | undefined;
  readonly from: string;
}

export interface AutofillSettings {
  readonly project: AutofillSetting;
  readonly model: AutofillSetting;
  /** The ids of a new call in the trace of the environment, for a body that names neither trace nor parent. */
  readonly trace?:
    | { readonly callId: string; readonly traceId: string; readonly parentId: string | undefined }
    | undefined;
  /** The id of a new call in any trace, unless it has a generated one. */
  readonly callId?: string | undefined;
}

/** The sources of new ids and of the time. */
export interface AutofillGenerators {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The id for a field that needs one. */
  readonly newId: (member: string) => string;
}

/**
 * Returns a function that creates the edits of fields that svc adds (docs/contract.md, section 2): ids and times of a
 * call, the project and model of the profile, and `add_generation_prompt: false` for a continued message. Fields that
 * the body has are left alone; `--exact` adds none.
 */
export function createAutofill({
  path,
  fields,
}: FlagTarget): (draft: Draft, settings: AutofillSettings, generators: AutofillGenerators) => Edit[] {
  const autofillFields = Object.entries(fields).filter(([, { fill, excludes }]) => fill || excludes);
  return (draft, settings, filling) => {
    const object = nodeAtPath(rootOf(draft.doc), path);
    if (!object || kindOf(object) !== 'object') return [];
    const edits: Edit[] = [];
    const isInTrace = ['trace_id', 'parent_id'].some((name) => getMember(object, name));
    const { project, model, trace, callId } = settings;
    const values = { project, model, trace: isInTrace ? undefined : trace, callId };
    for (const [name, { fill, fillUnless, excludes }] of autofillFields) {
      if (excludes && isTrue(getMember(object, name)) && !getMember(object, excludes))
        edits.push({ path: [...path, excludes], text: 'false', origin: AUTOFILL_ORIGIN });
      if (!fill || getMember(object, name) || hasValue(object, fillUnless)) continue;
      const text = autofillJson(name, fill, values, filling);
      const origin = fill === 'project' || fill === 'model' ? { label: settings[fill].from } : AUTOFILL_ORIGIN;
      if (text !== undefined) edits.push({ path: [...path, name], text, origin });
    }
    return edits;
  };
}

// Recognized by identity: a file may have the same name.
const AUTOFILL_ORIGIN: ValueOrigin = { label: 'svc' };

/** True if svc generated the value at a path, or the whole body: the same command sends another value in its next run. */
export function isGeneratedValue({ base, edits }: Draft, path: JsonPath): boolean {
  const edit = edits.findLast((one) => isPathWithin(path, one.path));
  return edit ? edit.origin === AUTOFILL_ORIGIN : base === undefined;
}

// Servers take null as absent.
function hasValue(object: JsonNode, name: string | undefined): boolean {
  const value = name === undefined ? undefined : getMember(object, name);
  return value !== undefined && kindOf(value) !== 'null';
}

function autofillJson(
  name: string,
  fill: NonNullable<Field['fill']>,
  { project, model, trace, callId }: AutofillSettings,
  { now, newId }: AutofillGenerators,
): string | undefined {
  switch (fill) {
    // Ids and times have no character that JSON escapes.
    case 'call-id':
      return `"${trace?.callId ?? callId ?? newId(name)}"`;
    case 'trace-id':
      return `"${trace?.traceId ?? newId(name)}"`;
    case 'parent-id':
      return trace?.parentId && `"${trace.parentId}"`;
    case 'now':
      return `"${new Date(now()).toISOString()}"`;
    case 'empty':
      return '{}';
    case 'project':
      return project.text && JSON.stringify(project.text);
    case 'model':
      return model.text && JSON.stringify(model.text);
  }
}
