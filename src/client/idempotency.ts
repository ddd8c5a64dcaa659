import { type JsonNode, kindOf, stringOf } from '../json/json-node.ts';
import { type JsonPath, nodeAtPath } from '../json/json-path.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';

/** The effect of sending this body again; a keyed operation without its key makes a second record. */
export function requestEffect(operation: Operation, body: JsonNode): Operation['effect'] {
  const { effect, key = [] } = operation;
  if (effect !== 'keyed') return effect;
  const { path } = flagTarget(operation);
  return key.every((name) => idAtPath(body, [...path, name]) !== undefined) ? 'keyed' : 'once';
}

/** The ids in a body by which a user can find out later whether it was applied. */
export function recordIds({ ids = {} }: Operation, body: JsonNode): { readonly [what: string]: string } {
  const entries = Object.entries(ids).map(([what, path]) => [what, idAtPath(body, path)] as const);
  return Object.fromEntries(entries.flatMap(([what, id]) => (id === undefined ? [] : [[what, id] as const])));
}

/** True if a request is safe to retry: sending it twice has the effect of sending it once. */
export function isIdempotent(effect: Operation['effect']): boolean {
  return effect === 'read' || effect === 'keyed';
}

/** What running the same command again would do, in plain words. */
export function retryAdvice(effect: Operation['effect']): string {
  switch (effect) {
    case 'read':
      return 'the request only reads data: run the command again';
    case 'keyed':
      return 'it is safe to run it again with the same ids; with other ids it may be applied twice';
    case 'paid':
      return 'if you run it again, you may be charged twice';
    case 'once':
      return 'if you run it again, it may be applied twice';
  }
}

function idAtPath(body: JsonNode, path: JsonPath): string | undefined {
  const node = nodeAtPath(body, path);
  return node && kindOf(node) === 'string' ? stringOf(node) : undefined;
}
