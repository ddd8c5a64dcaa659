import { exchangeErrorReason } from '../../client/failure.ts';
import { readConnectOptions } from '../../config/connect-options.ts';
import { missingBaseUrl } from '../../config/destination.ts';
import { resolveBaseUrl, type ServiceHost } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { type ConnectOptions, openSocket } from '../../http/open-socket.ts';
import { TimeLimitError, timeLimits } from '../../http/time-limits.ts';
import { readTlsInfo } from '../../http/tls.ts';
import { pluralize } from '../../json/pluralize.ts';
import { type ConnectionResult, captureFinding, type DoctorFinding, type Examination } from './doctor-report.ts';

const DAY_MS = 86_400_000;
const EXPIRY_WARNING_DAYS = 14;

/** The base URL of a kind of operations. */
export interface HostBaseUrl {
  readonly host: ServiceHost;
  readonly url: URL;
}

/** The base URLs that are set; an invalid one is a finding, and so is having none. */
export async function resolveBaseUrls({
  flags,
  selected,
  context: { runtime },
  findings,
}: Examination): Promise<HostBaseUrl[]> {
  if (selected.isLocal) return [];
  const findingsBefore = findings.length;
  const baseUrls: HostBaseUrl[] = [];
  for (const host of ['trace', 'chat', 'train'] as const) {
    const findUrl = (): URL | undefined => resolveBaseUrl(host, flags, runtime.env, selected.profile);
    const url = await captureFinding(findUrl, findings);
    if (url) baseUrls.push({ host, url });
  }
  if (baseUrls.length === 0 && findings.length === findingsBefore) {
    const { message, code, facts } = missingBaseUrl(selected);
    findings.push({ message, code, hint: facts.hint });
  }
  return baseUrls;
}

/** Connects to every origin at once, as far as TLS, and sends nothing. What fails, and certificates that end soon, become findings. */
export async function testConnections(
  { certificateFiles, selected: { profile }, context, findings }: Examination,
  baseUrls: readonly HostBaseUrl[],
): Promise<ConnectionResult[]> {
  const origins = [...new Set(baseUrls.map(({ url }) => url.origin))];
  const results = await Promise.all(
    origins.map(async (origin) => {
      const url = new URL(origin);
      const options = await captureFinding(() => readConnectOptions(url, certificateFiles, profile, context), findings);
      if (!options) return [];
      const hosts = baseUrls.filter((address) => address.url.origin === origin).map(({ host }) => host);
      return [{ hosts, ...(await testConnection(url, options, context, findings)) }];
    }),
  );
  return results.flat();
}

async function testConnection(
  url: URL,
  options: ConnectOptions,
  { runtime, signal }: Context,
  findings: DoctorFinding[],
): Promise<Omit<ConnectionResult, 'hosts'>> {
  const timeoutController = new AbortController();
  const cancelTimeout = runtime.after(timeLimits.connect, () =>
    timeoutController.abort(new TimeLimitError('connect', timeLimits.connect)),
  );
  const startedAt = runtime.elapsed();
  const result = (security: ReturnType<typeof readTlsInfo>, error: string | null): Omit<ConnectionResult, 'hosts'> => ({
    address: url.origin,
    proxy: options.proxy?.host ?? null,
    reached: error === null,
    milliseconds: Math.round(runtime.elapsed() - startedAt),
    tls: security?.version ?? null,
    certificate_expires: security ? new Date(security.expiresMs).toISOString() : null,
    error,
  });
  try {
    const socket = await openSocket(url, options, AbortSignal.any([signal, timeoutController.signal]));
    const security = readTlsInfo(socket);
    socket.destroy();
    if (security) findings.push(...expiryFindings(url.host, security.expiresMs, runtime.now()));
    return result(security, null);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const reason = exchangeErrorReason(timeoutController.signal.aborted ? timeoutController.signal.reason : error);
    findings.push({ message: `could not connect to ${url.origin}: ${reason}`, code: 'unreachable' });
    return result(undefined, reason);
  } finally {
    cancelTimeout();
  }
}

function expiryFindings(host: string, expires: number, now: number): DoctorFinding[] {
  const days = Math.floor((expires - now) / DAY_MS);
  return days < EXPIRY_WARNING_DAYS
    ? [{ message: `the certificate of ${host} expires in ${days} ${pluralize(days, 'day')}` }]
    : [];
}
