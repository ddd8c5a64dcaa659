import { type JsonNode, kindOf, stringOf } from '../json/json-node.ts';
import { nodeAtPath } from '../json/json-path.ts';
import type { Operation } from '../operations/operation.ts';

/** The effect of sending a body with these ids again; a keyed operation without its key makes a second record. */
export function requestEffect({ effect, key = [] }: Operation, ids: RecordIds): Operation['effect'] {
  return effect === 'keyed' && key.some((what) => ids[what] === undefined) ? 'once' : effect;
}

/** Ids in a body, by what they identify. */
export type RecordIds = { readonly [what: string]: string };

/** The ids in a body by which a user can find out later whether it was applied; an empty one identifies nothing. */
export function recordIds({ ids: paths = {} }: Operation, body: JsonNode): RecordIds {
  const ids: { [what: string]: string } = {};
  for (const [what, path] of Object.entries(paths)) {
    const node = nodeAtPath(body, path);
    if (node && kindOf(node) === 'string' && stringOf(node) !== '') ids[what] = stringOf(node);
  }
  return ids;
}

/** True if a request is safe to retry: sending it twice has the effect of sending it once. */
export function isIdempotent(effect: Operation['effect']): boolean {
  return effect === 'read' || effect === 'keyed';
}

/** The effect of running the same command again, for messages. */
export function retryAdvice(effect: Operation['effect']): string {
  return retryAdviceByEffect[effect];
}

const retryAdviceByEffect = {
  read: 'the request only reads data: run the command again',
  keyed: 'it is safe to run it again with the same ids; with other ids it may be applied twice',
  paid: 'if you run it again, you may be charged twice',
  once: 'if you run it again, it may be applied twice',
} as const;
