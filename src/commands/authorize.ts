import { type Authorization, authorizationFor } from '../call/destination.ts';
import type { Context } from '../cli/context.ts';
import { isLoopback } from '../http/proxies.ts';
import type { Operation } from '../operations/operation.ts';
import type { Call } from './call.ts';

/** The credential for a call, hidden in all that is reported from then on; none for the embedded service. Throws as authorizationFor does. */
export async function authorize(
  operation: Operation,
  url: URL,
  { options, chosen }: Pick<Call, 'options' | 'chosen'>,
  { runtime, report, signal }: Context,
): Promise<Authorization | undefined> {
  if (chosen.isLocal) return undefined;
  const authorization = await authorizationFor(url, operation, chosen, options.allowHttp, runtime, signal);
  report.conceal(authorization.secrets);
  if (url.protocol === 'http:' && !isLoopback(url))
    await report.warn(`the credential goes to ${url.origin} over plain http`);
  return authorization;
}
