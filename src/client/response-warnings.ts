import { firstStringMember, rootOf } from '../json/json-node.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import type { RequestContext } from './request.ts';
import type { AttemptResult } from './send-once.ts';

/** Signs that a successful response is for another request, or for a part of this one. */
export function suspectResponseWarnings({ parsedResponse, early }: AttemptResult, context: RequestContext): string[] {
  const warnings: string[] = [];
  for (const [what, sent] of Object.entries(context.ids)) {
    const name = idField(what, context);
    const received = responseId(parsedResponse, name) ?? sent;
    if (received !== sent)
      warnings.push(
        `the response has ${name} ${JSON.stringify(received)}, but ${JSON.stringify(sent)} was sent; it may be for another request`,
      );
  }
  if (early) warnings.push(early);
  return warnings;
}

/** True for a response that returns the id of the record that the request names: it is for no other request. */
export function hasIdOfRequest(parsedResponse: IdSource, context: RequestContext): boolean {
  const [what = ''] = Object.keys(context.operation.ids ?? {});
  const sent = context.ids[what];
  return sent !== undefined && responseId(parsedResponse, idField(what, context)) === sent;
}

type IdSource = Pick<ParsedResponse, 'doc'> | undefined;

// A response has an id under the name that it has in the request.
function idField(what: string, { operation }: RequestContext): string {
  return String(operation.ids?.[what]?.at(-1));
}

function responseId(parsedResponse: IdSource, name: string): string | undefined {
  return parsedResponse?.doc && firstStringMember(rootOf(parsedResponse.doc), name);
}
