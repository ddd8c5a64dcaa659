import { exchangeErrorReason } from '../../client/exchange-failure.ts';
import { resolveSettings } from '../../client/resolve-settings.ts';
import { probeFeedbackSchema } from '../../client/send.ts';
import { readConnectOptions } from '../../config/connect-options.ts';
import { toFailure } from '../../errors.ts';
import { type ConnectOptions, openSocket } from '../../http/open-socket.ts';
import { TimeLimitError, timeLimits } from '../../http/time-limits.ts';
import { readTlsInfo, type TlsInfo } from '../../http/tls.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import { pluralize } from '../../output/transfer-text.ts';
import type { Examination } from './examination.ts';

const DAY_MS = 86_400_000;
const EXPIRY_WARNING_DAYS = 14;

/** Connects to every origin at once, as far as TLS, and sends nothing. What fails, and certificates that end soon, become findings. */
export async function testConnections(examination: Examination) {
  const { selected, context, options: certificateFiles, baseUrls, capture } = examination;
  const origins = [...new Set(baseUrls.map(({ url }) => url.origin))];
  const results = await Promise.all(
    origins.map(async (origin) => {
      const url = new URL(origin);
      const options = await capture(() => readConnectOptions(url, certificateFiles, selected.profile, context));
      if (!options) return [];
      const hosts = baseUrls.filter((one) => one.url.origin === origin).map(({ host }) => host);
      return [{ hosts, ...(await testConnection(url, options, examination)) }];
    }),
  );
  return results.flat();
}

async function testConnection(url: URL, options: ConnectOptions, { context, findings }: Examination) {
  const { runtime, signal } = context;
  const timeout = new AbortController();
  const cancelTimeout = runtime.after(timeLimits.connect, () =>
    timeout.abort(new TimeLimitError('connect', timeLimits.connect)),
  );
  const startedAt = runtime.elapsed();
  let security: TlsInfo | undefined;
  let error: string | null = null;
  try {
    const socket = await openSocket(url, options, AbortSignal.any([signal, timeout.signal]));
    security = readTlsInfo(socket);
    socket.destroy();
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    error = exchangeErrorReason(timeout.signal.aborted ? timeout.signal.reason : thrown, options.proxy);
    findings.push({ message: `could not connect to ${url.origin}: ${error}`, code: 'unreachable' });
  } finally {
    cancelTimeout();
  }
  const days = security ? Math.floor((security.expiresMs - runtime.now()) / DAY_MS) : EXPIRY_WARNING_DAYS;
  if (days < EXPIRY_WARNING_DAYS)
    findings.push({ message: `the certificate of ${url.host} expires in ${days} ${pluralize(days, 'day')}` });
  return {
    address: url.origin,
    proxy: options.proxy?.host ?? null,
    reached: error === null,
    milliseconds: Math.round(runtime.elapsed() - startedAt),
    tls: security?.version ?? null,
    certificate_expires: security ? new Date(security.expiresMs).toISOString() : null,
    error,
  };
}

// Used if no project is set: a response that it does not exist comes from the service as well.
const PLACEHOLDER_PROJECT_ID = 'svc/doctor';

/** Calls feedback schema, which changes nothing. Throws the Failure that prevents the request; a failed one is a finding. */
export async function probeService({ context, options, findings }: Examination) {
  const { runtime, signal } = context;
  const settings = await resolveSettings(feedbackSchemaOperation, options, context);
  const { text: configuredProject } = settings.defaults.project;
  const project_id = configuredProject || PLACEHOLDER_PROJECT_ID;
  const startedAt = runtime.elapsed();
  const result = (status: number | null, failed = false) => {
    return { project_id, status, failed, milliseconds: Math.round(runtime.elapsed() - startedAt) };
  };
  try {
    return result(await probeFeedbackSchema(project_id, settings, context));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = toFailure(error);
    const { code, message, facts } = failure;
    const { status, summary = message, hint } = facts;
    // Nothing was sent.
    if (code === 'credentials' && status === undefined) throw failure;
    // A service that does not know the placeholder responds, and accepts the credentials.
    const isExpected = code === 'refused' && configuredProject === undefined && status !== undefined && status >= 400;
    // The message of a service may repeat any secret of the profile, and stdout is not redacted.
    const missing = status === 404 ? 'check the base URL and the project; a model server has no feedback' : undefined;
    const found = { message: `the probe failed: ${summary}`, code, hint: code === 'credentials' ? hint : missing };
    if (!isExpected) findings.push(found);
    return result(status ?? null, !isExpected);
  }
}
