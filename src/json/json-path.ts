import { getMember, itemsOf, type JsonNode } from './json-node.ts';

/** The path of a value in a document: member names and list indexes from the outside in. */
export type JsonPath = readonly (string | number)[];

/** In the path of an edit: the place after a list's last element. */
export const APPEND_INDEX = -1;

/** `start.attributes.a\.b[0]`: the form that findings show and `--set` reads. */
export function formatJsonPath(path: JsonPath): string {
  return path
    .map((step, at) => {
      if (typeof step === 'number') return step === APPEND_INDEX ? '[]' : `[${step}]`;
      return (at === 0 ? '' : '.') + step.replace(/[\\.[\]=]/g, '\\$&');
    })
    .join('');
}

/** Reads what formatJsonPath writes; undefined if it is malformed. */
export function parseJsonPath(text: string): JsonPath | undefined {
  const path: (string | number)[] = [];
  let rest = text;
  while (rest !== '') {
    const index = /^\[(\d*)\]/.exec(rest);
    const name = index ? null : /^(\.?)((?:\\.|[^\\.[\]])+)/s.exec(rest);
    if (index && path.length > 0) path.push(index[1] === '' ? APPEND_INDEX : Number(index[1]));
    else if (name && (name[1] === '.') === path.length > 0) path.push((name[2] ?? '').replace(/\\(.)/gs, '$1'));
    else return undefined;
    rest = rest.slice((index ?? name)?.[0].length);
  }
  return path.length > 0 ? path : undefined;
}

/** The value at a path, or undefined; of duplicate members the last. */
export function nodeAtPath(root: JsonNode, path: JsonPath): JsonNode | undefined {
  let node: JsonNode | undefined = root;
  for (const step of path) {
    if (node === undefined) return undefined;
    node = typeof step === 'string' ? getMember(node, step) : Array.from(itemsOf(node))[step];
  }
  return node;
}

/** True when `path` is `prefix` or lies inside it. */
export function isPathWithin(path: JsonPath, prefix: JsonPath): boolean {
  return prefix.length <= path.length && prefix.every((step, at) => step === path[at]);
}
