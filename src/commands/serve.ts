import { resolve } from 'node:path';
import type { RunCommand } from '../command.ts';
import { parseBaseUrl } from '../config/base-url.ts';
import { dataDirectory } from '../config/directories.ts';
import { routeTo } from '../config/route.ts';
import { Failure, usageFailure } from '../errors.ts';
import { type FlagValues, getBooleanFlag, getStringFlag } from '../flag.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import { listenOnLoopback } from '../local-service/listen.ts';
import { databaseFileIn, openLocalService } from '../local-service/open-local-service.ts';
import { loadServiceCredentials } from '../local-service/service-credentials.ts';
import { createUpstream, type Upstream } from '../local-service/upstream.ts';
import { openResultOutput, printResult, resultOf } from '../results/print-result.ts';
import type { Runtime } from '../runtime.ts';

/** Runs the local service on a port until the process is asked to end, which is how it succeeds. */
export const runServe: RunCommand = async ({ flags }, context) => {
  const { runtime, report, signal } = context;
  const output = openResultOutput('report', flags, context);
  const port = parsePort(getStringFlag(flags, 'port') ?? '0');
  const data =
    getStringFlag(flags, 'data') === undefined
      ? databaseFileIn(dataDirectory(runtime))
      : resolve(runtime.cwd, getStringFlag(flags, 'data') ?? '');
  const upstream = await openUpstream(flags, runtime);
  const authSetup =
    getBooleanFlag(flags, 'auth') === false
      ? undefined
      : await loadServiceCredentials(getStringFlag(flags, 'credentials'), data, runtime);
  const service = await openLocalService(
    { databaseFile: data, credentials: authSetup?.credentials, upstream: upstream?.answer },
    runtime,
  );
  const listener = await listenOnLoopback(service.send, port, runtime.after);
  const facts = { url: listener.url, pid: runtime.pid, data, credentials_file: authSetup?.file ?? null };
  await printResult({ ...resultOf(facts), text: () => [{ text: `${listener.url}\n` }] }, output);
  if (authSetup?.file) await report.note(`the credentials are in ${authSetup.file}`);
  if (!authSetup) await report.warn('everybody on this machine may use it (--no-auth)');
  await waitForAbort(signal);
  await listener.close();
  await service.close();
  await upstream?.close();
};

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= 0 && port <= 65_535) return port;
  throw usageFailure(`--port cannot be ${JSON.stringify(text)}`, 'it is a number from 0 to 65535');
}

async function openUpstream(
  flags: FlagValues,
  runtime: Runtime,
): Promise<{ answer: Upstream; close: () => Promise<void> } | undefined> {
  const text = getStringFlag(flags, 'upstream');
  if (text === undefined) return undefined;
  const base = parseBaseUrl(text, '--upstream');
  const token = runtime.env.SVC_UPSTREAM_TOKEN || undefined;
  if (token && base.protocol === 'http:' && !isLoopbackUrl(base)) {
    throw new Failure('guard', `SVC_UPSTREAM_TOKEN would go to ${base.origin} over plain http`, { hint: 'use https' });
  }
  const route = await routeTo(base, {}, {}, runtime);
  const { openHttpTransport } = await import('../http/transport.ts');
  const transport = openHttpTransport(route);
  return { answer: createUpstream(base, token, transport.send, runtime.after), close: transport.close };
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
