import { getMember, kindOf, rootOf, stringOf } from '../json/json-node.ts';
import type { RequestContext } from './request-context.ts';
import type { AttemptResult } from './send-once.ts';

/** Signs that a successful response is for another request, or for a part of this one. */
export function suspectResponseWarnings({ parsedResponse, early }: AttemptResult, context: RequestContext): string[] {
  return [...idMismatches(parsedResponse, context), ...(early ? [early] : [])];
}

function idMismatches(
  parsedResponse: AttemptResult['parsedResponse'],
  { ids, operation: { ids: paths = {} } }: RequestContext,
): string[] {
  if (!parsedResponse?.doc || kindOf(rootOf(parsedResponse.doc)) !== 'object') return [];
  const root = rootOf(parsedResponse.doc);
  return Object.entries(paths).flatMap(([what, path]) => {
    const name = String(path.at(-1));
    const value = getMember(root, name);
    const sent = ids[what];
    if (sent === undefined || !value || kindOf(value) !== 'string' || stringOf(value) === sent) return [];
    return [
      `the response has ${name} ${JSON.stringify(stringOf(value))}, but ${JSON.stringify(sent)} was sent; it may be for another request`,
    ];
  });
}
