import type { Buffer } from 'node:buffer';
import { createDraft, type Draft } from '../body/draft.ts';
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
import type { RequestObserver } from './request-observer.ts';

/** Sends a body that svc made itself; see sendDraft. Returns the warnings of a successful response, and throws also the Failure of an invalid one. */
export async function sendBody(
  operation: Operation,
  body: Buffer,
  settings: CallSettings,
  context: Pick<Context, 'runtime' | 'report'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const draft = createDraft(undefined, body.toString());
  const { parsedResponse, warnings } = await sendDraft(operation, draft, settings, context, signal);
  if (parsedResponse?.failure) throw parsedResponse.failure;
  return warnings;
}

/**
 * Sends a body over a connection of its own and returns the outcome, printing nothing but the trace of `--verbose`. The
 * connection of a stream is closed by the end of the process. The signal ends the exchange. Throws what `exchange`
 * throws, and the Failure of missing credentials.
 */
export async function sendDraft(
  operation: Operation,
  draft: Draft,
  settings: CallSettings,
  { runtime, report }: Pick<Context, 'runtime' | 'report'>,
  signal: AbortSignal,
  observer: RequestObserver = {},
): Promise<Outcome> {
  const { destination, options, chosen, route, timeoutMs, maxRetries } = settings;
  const { url } = destination;
  if (!url) throw missingBaseUrl();
  const deadline = createDeadline(timeoutMs, runtime);
  const authorization = await authorizeRequest(operation, url, settings, { runtime, report, signal });
  const request = { ...prepareRequest(operation, draft, destination, options.headers), url, authorization };
  const transport = await openTransport(route, { runtime, report });
  let isStream = false;
  try {
    const trace = report.isVerbose ? { onTrace: report.detail } : {};
    const outcome = await exchange(
      request,
      createRequestContext(operation, draft, createRequestTarget(url, chosen, authorization)),
      { ...trace, ...observer },
      {
        send: transport.send,
        runtime,
        signal,
        startDeadline: () => deadline,
        maxRetries,
      },
    );
    isStream = outcome.chunks !== undefined;
    return outcome;
  } finally {
    if (!isStream) await transport.close();
  }
}
