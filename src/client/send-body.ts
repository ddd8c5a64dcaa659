import type { Buffer } from 'node:buffer';
import { createDraft } from '../body/draft.ts';
import type { Context } from '../context.ts';
import { createDeadline } from '../http/deadline.ts';
import type { Operation } from '../operations/operation.ts';
import { authorizeRequest } from './authorize-request.ts';
import type { CallSettings } from './call-settings.ts';
import { missingBaseUrl } from './destination.ts';
import { exchange, type Outcome } from './exchange.ts';
import { openTransport } from './open-transport.ts';
import { prepareRequest } from './prepared-request.ts';
import { createRequestContext, createRequestTarget } from './request-context.ts';
import { createRetryBudget } from './retry-budget.ts';

/**
 * Sends a body that svc made itself and returns the outcome, printing nothing but the trace of `--verbose`. The signal
 * ends it. Throws what `exchange` throws, and the Failure of missing credentials.
 */
export async function sendBody(
  operation: Operation,
  body: Buffer,
  settings: CallSettings,
  { runtime, report }: Pick<Context, 'runtime' | 'report'>,
  signal: AbortSignal,
): Promise<Outcome> {
  const { destination, options, chosen, route, timeoutMs, maxRetries } = settings;
  const { url } = destination;
  if (!url) throw missingBaseUrl();
  const deadline = createDeadline(timeoutMs, runtime);
  const authorization = await authorizeRequest(operation, url, settings, { runtime, report, signal });
  const draft = createDraft(undefined, body.toString());
  const request = { ...prepareRequest(operation, draft, destination, options.headers), url, authorization };
  const transport = await openTransport(route, { runtime, report });
  try {
    const observer = report.isVerbose ? { onTrace: report.detail } : {};
    return await exchange(
      request,
      createRequestContext(operation, draft, createRequestTarget(url, chosen, authorization)),
      observer,
      {
        send: transport.send,
        runtime,
        signal,
        startDeadline: () => deadline,
        maxRetries,
        retryBudget: createRetryBudget(),
      },
    );
  } finally {
    await transport.close();
  }
}
