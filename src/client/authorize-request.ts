import type { Context } from '../context.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import type { Operation } from '../operations/operation.ts';
import type { CallSettings } from './call-settings.ts';
import { type Authorization, resolveAuthorization } from './destination.ts';

/** The credential for a call, hidden in all that is reported from then on; none for the embedded service. Throws as authorizationFor does. */
export async function authorizeRequest(
  operation: Operation,
  url: URL,
  { options, chosen }: Pick<CallSettings, 'options' | 'chosen'>,
  { runtime, report, signal }: Context,
): Promise<Authorization | undefined> {
  if (chosen.isLocal) return undefined;
  const authorization = await resolveAuthorization(url, operation, chosen, options.allowHttp, runtime, signal);
  report.addSecrets(authorization.secrets);
  if (url.protocol === 'http:' && !isLoopbackUrl(url))
    await report.warn(`the credential goes to ${url.origin} over plain http`);
  return authorization;
}
