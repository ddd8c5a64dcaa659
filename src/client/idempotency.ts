import { type JsonNode, kindOf, stringOf } from '../json/json-node.ts';
import { type JsonPath, nodeAtPath } from '../json/json-path.ts';
import { flagTarget } from '../operations/flag-target.ts';
import type { Operation } from '../operations/operation.ts';

/** What repeating a request with this body would do; a keyed operation without its key makes a second record. */
export function requestEffect(operation: Operation, body: JsonNode): Operation['effect'] {
  const { effect, key = [] } = operation;
  if (effect !== 'keyed') return effect;
  const { path } = flagTarget(operation);
  return key.every((name) => idAtPath(body, [...path, name]) !== undefined) ? 'keyed' : 'once';
}

/** The ids in a body by which one can tell later whether it was applied. */
export function recordIds({ ids = {} }: Operation, body: JsonNode): { readonly [what: string]: string } {
  const entries = Object.entries(ids).map(([what, path]) => [what, idAtPath(body, path)] as const);
  return Object.fromEntries(entries.flatMap(([what, id]) => (id === undefined ? [] : [[what, id] as const])));
}

/** True where the same request may come twice and nothing more happens than with one. */
export function isIdempotent(effect: Operation['effect']): boolean {
  return effect === 'read' || effect === 'keyed';
}

/** What running the same command again would mean, in plain words. */
export function retryAdvice(effect: Operation['effect']): string {
  switch (effect) {
    case 'read':
      return 'nothing is changed by it, so run it again';
    case 'keyed':
      return 'it may have been applied; running it again with other ids could apply it twice, with the same ids it does no harm';
    case 'paid':
      return 'it may have been answered; running it again could be charged twice';
    case 'once':
      return 'it may have been applied; running it again could apply it twice';
  }
}

function idAtPath(body: JsonNode, path: JsonPath): string | undefined {
  const node = nodeAtPath(body, path);
  return node && kindOf(node) === 'string' ? stringOf(node) : undefined;
}
