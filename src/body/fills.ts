import type { Field } from '../fields/field.ts';
import { isTrue, kindOf, member, rootOf } from '../json/node.ts';
import { nodeAt } from '../json/path.ts';
import type { Target } from '../operations/target.ts';
import type { Draft } from './draft.ts';
import type { Edit } from './edit.ts';

/** What the environment or the profile say where a body says nothing, and which of them it is. */
export interface Setting {
  readonly text: string | undefined;
  readonly from: string;
}

export interface Settings {
  readonly project: Setting;
  readonly model: Setting;
}

/** Where new ids and the time come from. */
export interface Filling {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The id for a member that needs one. */
  readonly newId: (member: string) => string;
}

/**
 * What adds the few things svc adds to the bodies of an operation (PRODUCT.md section 2): ids and times of a call, the
 * project and model of the profile, and the false that a continued message needs. Only what is absent is added;
 * `--exact` asks for none of it.
 */
export function filler({ path, fields }: Target): (draft: Draft, settings: Settings, filling: Filling) => Edit[] {
  const fillable = Object.entries(fields).filter(([, { fill, excludes }]) => fill || excludes);
  return (draft, settings, filling) => {
    const object = nodeAt(rootOf(draft.doc), path);
    if (!object || kindOf(object) !== 'object') return [];
    const edits: Edit[] = [];
    for (const [name, { fill, fillUnless, excludes }] of fillable) {
      if (excludes && isTrue(member(object, name)) && !member(object, excludes))
        edits.push({ path: [...path, excludes], text: 'false', origin: { label: 'svc' } });
      if (!fill || member(object, name) || (fillUnless && member(object, fillUnless))) continue;
      const text = fillText(name, fill, settings, filling);
      const label = fill === 'project' || fill === 'model' ? settings[fill].from : 'svc';
      if (text !== undefined) edits.push({ path: [...path, name], text, origin: { label } });
    }
    return edits;
  };
}

function fillText(
  name: string,
  fill: NonNullable<Field['fill']>,
  { project, model }: Settings,
  { now, newId }: Filling,
): string | undefined {
  switch (fill) {
    case 'uuid':
      return JSON.stringify(newId(name));
    case 'now':
      return JSON.stringify(new Date(now()).toISOString());
    case 'empty':
      return '{}';
    case 'project':
      return project.text && JSON.stringify(project.text);
    case 'model':
      return model.text && JSON.stringify(model.text);
  }
}
