import { type JsonNode, kindOf, stringOf } from '../json/node.ts';
import { nodeAt, type Path } from '../json/path.ts';
import type { Operation } from '../operations/operation.ts';
import { targetOf } from '../operations/target.ts';

/** What repeating a request with this body would do; a keyed operation without its key makes a second record. */
export function effectOf(operation: Operation, body: JsonNode): Operation['effect'] {
  const { effect, key = [] } = operation;
  if (effect !== 'keyed') return effect;
  const { path } = targetOf(operation);
  return key.every((name) => idAt(body, [...path, name]) !== undefined) ? 'keyed' : 'once';
}

/** The ids in a body by which one can tell later whether it was applied. */
export function idsIn({ ids = {} }: Operation, body: JsonNode): { readonly [what: string]: string } {
  const found = Object.entries(ids).map(([what, path]) => [what, idAt(body, path)] as const);
  return Object.fromEntries(found.flatMap(([what, id]) => (id === undefined ? [] : [[what, id] as const])));
}

/** True where the same request may come twice and nothing more happens than with one. */
export function isHarmless(effect: Operation['effect']): boolean {
  return effect === 'read' || effect === 'keyed';
}

/** What running the same command again would mean, in plain words. */
export function repeatAdvice(effect: Operation['effect']): string {
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

function idAt(body: JsonNode, path: Path): string | undefined {
  const node = nodeAt(body, path);
  return node && kindOf(node) === 'string' ? stringOf(node) : undefined;
}
