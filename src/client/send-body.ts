import { createDraft, type Draft } from '../body/draft.ts';
import type { Context } from '../context.ts';
import { createDeadline, type Deadline } from '../http/deadline.ts';
import type { Operation } from '../operations/operation.ts';
import type { CallSettings } from './call-settings.ts';
import { type Authorization, authorizeRequest, missingBaseUrl } from './destination.ts';
import { exchange, type Outcome } from './exchange.ts';
import { openTransport } from './open-transport.ts';
import { type PreparedRequest, prepareRequest } from './prepared-request.ts';
import { createRequestContext, createRequestTarget, type RequestTarget } from './request-context.ts';
import type { RequestObserver } from './request-observer.ts';

/** Settings whose credential was read before, if `authorization` is given; without it, it is read for the request. */
type SendSettings = CallSettings & { readonly authorization?: Authorization | undefined };

type SendContext = Pick<Context, 'runtime' | 'report' | 'signal'>;

/**
 * Sends a body that svc made itself; see sendDraft. Returns the warnings of a successful response, and throws also the
 * Failure of an invalid one.
 */
export async function sendBody(
  operation: Operation,
  body: string,
  settings: SendSettings,
  context: SendContext,
): Promise<readonly string[]> {
  const { parsedResponse, warnings } = await sendDraft(operation, createDraft(undefined, body), settings, context);
  if (parsedResponse?.failure) throw parsedResponse.failure;
  return warnings;
}

/** Authorizes and sends a body; see sendPrepared. Throws also the Failure of missing credentials. */
export async function sendDraft(
  operation: Operation,
  draft: Draft,
  settings: SendSettings,
  context: SendContext,
  observer?: RequestObserver,
): Promise<Outcome> {
  const { destination, options, chosen } = settings;
  const { url } = destination;
  if (!url) throw missingBaseUrl();
  const deadline = createDeadline(settings.timeoutMs, context.runtime);
  const authorization = settings.authorization ?? (await authorizeRequest(operation, url, settings, context));
  const prepared = prepareRequest(operation, draft, destination, options.headers);
  return sendPrepared(prepared, createRequestTarget(url, chosen, authorization), settings, deadline, context, observer);
}

/**
 * Sends a request over a connection of its own and returns the outcome, printing nothing but the trace of `--verbose`. The
 * connection of a stream is closed by the end of the process. The signal ends the exchange. Throws what `exchange` throws.
 */
export async function sendPrepared(
  prepared: PreparedRequest,
  target: RequestTarget,
  { route, maxRetries }: Pick<CallSettings, 'route' | 'maxRetries'>,
  deadline: Deadline,
  { runtime, report, signal }: SendContext,
  observer?: RequestObserver,
): Promise<Outcome> {
  const transport = await openTransport(route, { runtime, report });
  let isStream = false;
  try {
    const outcome = await exchange(
      prepared,
      createRequestContext(prepared.operation, prepared.draft, target),
      { ...(report.isVerbose ? { onTrace: report.detail } : {}), ...observer },
      { send: transport.send, runtime, signal, startDeadline: () => deadline, maxRetries },
    );
    isStream = outcome.chunks !== undefined;
    return outcome;
  } finally {
    if (!isStream) await transport.close();
  }
}
