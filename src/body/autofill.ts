import type { AutofillKind } from '../fields/field.ts';
import { getMember, isPathWithin, isTrue, type JsonPath, kindOf, nodeAtPath, rootOf } from '../json/json-node.ts';
import type { FlagTarget } from '../operations/operation.ts';
import type { Draft, Edit, ValueOrigin } from './draft.ts';

type AutofillSetting = { readonly text: string | undefined; readonly from: string };

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

interface AutofillGenerators {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly newId: (field: string) => string;
}

/** Returns a function that creates the edits of fields that svc adds (docs/internals/contract.md, section 2). */
export function createAutofill({ path, fields }: FlagTarget) {
  const autofillFields = Object.entries(fields).filter(([, { fill, excludes }]) => fill || excludes);
  return (draft: Draft, settings: AutofillSettings, generators: AutofillGenerators): Edit[] => {
    const object = nodeAtPath(rootOf(draft.doc), path);
    if (!object || kindOf(object) !== 'object') return [];
    const edits: Edit[] = [];
    const isInTrace = ['trace_id', 'parent_id'].some((name) => getMember(object, name));
    const usable = isInTrace ? { ...settings, trace: undefined } : settings;
    for (const [name, { fill, fillUnless, excludes }] of autofillFields) {
      if (excludes && isTrue(getMember(object, name)) && !getMember(object, excludes))
        edits.push({ path: [...path, excludes], text: 'false', origin: AUTOFILL_ORIGIN });
      const other = fillUnless && getMember(object, fillUnless);
      // Servers take null as absent.
      if (!fill || getMember(object, name) || (other && kindOf(other) !== 'null')) continue;
      const value = autofillValue(name, fill, usable, generators);
      const origin = fill === 'project' || fill === 'model' ? { label: settings[fill].from } : AUTOFILL_ORIGIN;
      if (value) edits.push({ path: [...path, name], text: JSON.stringify(value), origin });
    }
    return edits;
  };
}

const AUTOFILL_ORIGIN: ValueOrigin = { label: 'svc', isGenerated: true };

/** True if svc generated the value at a path, or the whole body: the same command sends another value in its next run. */
export function isGeneratedValue({ base, edits }: Draft, path: JsonPath): boolean {
  const edit = edits.findLast((one) => isPathWithin(path, one.path));
  return edit ? edit.origin.isGenerated === true : base === undefined;
}

function autofillValue(name: string, fill: AutofillKind, settings: AutofillSettings, generators: AutofillGenerators) {
  const { project, model, trace, callId } = settings;
  const { now, newId } = generators;
  if (fill === 'call-id') return trace?.callId ?? callId ?? newId(name);
  if (fill === 'trace-id') return trace?.traceId ?? newId(name);
  if (fill === 'parent-id') return trace?.parentId;
  if (fill === 'now') return new Date(now()).toISOString();
  if (fill === 'empty') return {};
  return fill === 'project' ? project.text : model.text;
}
