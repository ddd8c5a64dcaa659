import { firstStringMember, rootOf } from '../json/json-node.ts';
import type { ParsedResponse } from '../results/show-response.ts';
import type { RequestContext } from './request-context.ts';
import type { AttemptResult } from './send-once.ts';

/** Signs that a successful response is for another request, or for a part of this one. */
export function suspectResponseWarnings({ parsedResponse, early }: AttemptResult, context: RequestContext): string[] {
  const mismatches = responseIds(parsedResponse, context).filter(({ sent, received }) => sent !== received);
  return [
    ...mismatches.map(
      ({ name, sent, received }) =>
        `the response has ${name} ${JSON.stringify(received)}, but ${JSON.stringify(sent)} was sent; it may be for another request`,
    ),
    ...(early ? [early] : []),
  ];
}

/** True for a response that returns the id of the record that the request names: it is for no other request. */
export function hasIdOfRequest(
  parsedResponse: Pick<ParsedResponse, 'doc'> | undefined,
  context: RequestContext,
): boolean {
  const [recordId] = Object.keys(context.operation.ids ?? {});
  return responseIds(parsedResponse, context).some(
    ({ what, sent, received }) => what === recordId && sent === received,
  );
}

// The ids of a request that its response has, too.
function responseIds(
  parsedResponse: Pick<ParsedResponse, 'doc'> | undefined,
  { ids, operation: { ids: paths = {} } }: RequestContext,
): { what: string; name: string; sent: string; received: string }[] {
  const root = parsedResponse?.doc && rootOf(parsedResponse.doc);
  return Object.entries(paths).flatMap(([what, path]) => {
    const name = String(path.at(-1));
    const received = firstStringMember(root, name);
    const sent = ids[what];
    return sent === undefined || received === undefined ? [] : [{ what, name, sent, received }];
  });
}
