import type { Context } from '../context.ts';
import { isLoopbackUrl, proxySecrets } from '../http/proxy.ts';
import type { Operation } from '../operations/operation.ts';
import type { CallSettings } from './call-settings.ts';
import { type Authorization, resolveAuthorization } from './destination.ts';

/** The credential for a request, redacted in all output from now on; undefined for the embedded service. Throws as resolveAuthorization does. */
export async function authorizeRequest(
  operation: Operation,
  url: URL,
  { options, chosen, route, timeoutMs }: Pick<CallSettings, 'options' | 'chosen' | 'route' | 'timeoutMs'>,
  { runtime, report, signal }: Pick<Context, 'runtime' | 'report' | 'signal'>,
): Promise<Authorization | undefined> {
  if (route?.proxy) report.addSecrets(proxySecrets(route.proxy));
  if (chosen.isLocal) return undefined;
  const authorization = await resolveAuthorization(
    url,
    operation,
    chosen,
    options.allowHttp,
    runtime,
    signal,
    timeoutMs,
  );
  report.addSecrets(authorization.secrets);
  if (url.protocol === 'http:' && !isLoopbackUrl(url))
    await report.warn(`the credential goes to ${url.origin} over plain http`);
  return authorization;
}
