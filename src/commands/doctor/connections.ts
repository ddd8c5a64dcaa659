import { reasonOf } from '../../call/failures.ts';
import type { Context } from '../../cli/context.ts';
import { connectTo, type Way } from '../../http/connection.ts';
import { LimitReached, usualLimits } from '../../http/limits.ts';
import { securityOf } from '../../http/tls.ts';
import type { Chosen } from '../../profiles/resolve.ts';
import { wayTo } from '../../profiles/way.ts';
import type { Address } from './addresses.ts';
import type { Connection, Question } from './examination.ts';
import { type Finding, found } from './finding.ts';

const DAY = 86_400_000;
const SOON = 14;

/** Connects to every origin at once, as far as TLS, and sends nothing. What fails, and certificates that end soon, become findings. */
export async function connectionsTo(
  addresses: readonly Address[],
  { files }: Question,
  { profile }: Chosen,
  context: Context,
  findings: Finding[],
): Promise<Connection[]> {
  const origins = [...new Set(addresses.map(({ url }) => url.origin))];
  const tried = await Promise.all(
    origins.map(async (origin) => {
      const url = new URL(origin);
      const way = await found(() => wayTo(url, files, profile, context.runtime), findings);
      if (!way) return [];
      const hosts = addresses.filter((address) => address.url.origin === origin).map(({ host }) => host);
      return [{ hosts, ...(await tryOut(url, way, context, findings)) }];
    }),
  );
  return tried.flat();
}

async function tryOut(
  url: URL,
  way: Way,
  { runtime, signal }: Context,
  findings: Finding[],
): Promise<Omit<Connection, 'hosts'>> {
  const limit = new AbortController();
  const stop = runtime.after(usualLimits.connect, () => limit.abort(new LimitReached('connect', usualLimits.connect)));
  const started = runtime.elapsed();
  const told = { address: url.origin, proxy: way.proxy?.host ?? null };
  const took = (): number => Math.round(runtime.elapsed() - started);
  try {
    const socket = await connectTo(url, way, AbortSignal.any([signal, limit.signal]));
    const security = securityOf(socket);
    socket.destroy();
    if (security) findings.push(...endingSoon(url.host, security.expires, runtime.now()));
    return {
      ...told,
      reached: true,
      milliseconds: took(),
      tls: security?.version ?? null,
      certificate_expires: security ? new Date(security.expires).toISOString() : null,
      error: null,
    };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const reason = reasonOf(limit.signal.aborted ? limit.signal.reason : error);
    findings.push({ message: `${url.origin} could not be reached: ${reason}`, code: 'unreachable' });
    return { ...told, reached: false, milliseconds: took(), tls: null, certificate_expires: null, error: reason };
  } finally {
    stop();
  }
}

function endingSoon(host: string, expires: number, now: number): Finding[] {
  const days = Math.floor((expires - now) / DAY);
  return days < SOON ? [{ message: `the certificate of ${host} ends in ${days} ${days === 1 ? 'day' : 'days'}` }] : [];
}
