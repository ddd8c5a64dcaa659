import { resolve } from 'node:path';
import type { Run } from '../cli/command.ts';
import { Failure, usage } from '../errors.ts';
import { type FlagValues, isOn, textOf } from '../fields/flag.ts';
import { isLoopback } from '../http/proxies.ts';
import { writeJson } from '../json/write.ts';
import { parseBaseUrl } from '../profiles/base-url.ts';
import { dataFolder } from '../profiles/folders.ts';
import { wayTo } from '../profiles/way.ts';
import type { Runtime } from '../runtime.ts';
import { listen } from '../service/listen.ts';
import { dataFile, openService } from '../service/open.ts';
import { serviceCredentials } from '../service/service-credentials.ts';
import { type Upstream, upstreamAt } from '../service/upstream.ts';

/** Runs the local service on a port until the process is asked to end, which is how it succeeds. */
export const runServe: Run = async ({ flags }, { runtime, stdout, report, signal }) => {
  const port = portOf(textOf(flags, 'port') ?? '0');
  const data =
    textOf(flags, 'data') === undefined
      ? dataFile(dataFolder(runtime))
      : resolve(runtime.cwd, textOf(flags, 'data') ?? '');
  const upstream = await openUpstream(flags, runtime);
  const found =
    isOn(flags, 'auth') === false ? undefined : await serviceCredentials(textOf(flags, 'credentials'), data, runtime);
  const service = await openService({ data, credentials: found?.credentials, upstream: upstream?.answer }, runtime);
  const listener = await listen(service.send, port, runtime.after);
  const facts = { url: listener.url, pid: runtime.pid, data, credentials_file: found?.file ?? null };
  await stdout.write(isOn(flags, 'json') ? `${writeJson(facts)}\n` : `${listener.url}\n`);
  if (found?.file) await report.note(`the credentials are in ${found.file}`);
  if (!found) await report.warn('everybody on this machine may use it (--no-auth)');
  await untilAborted(signal);
  await listener.close();
  await service.close();
  await upstream?.close();
};

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= 0 && port <= 65_535) return port;
  throw usage(`--port cannot be ${JSON.stringify(text)}`, 'it is a number from 0 to 65535');
}

async function openUpstream(
  flags: FlagValues,
  runtime: Runtime,
): Promise<{ answer: Upstream; close: () => Promise<void> } | undefined> {
  const text = textOf(flags, 'upstream');
  if (text === undefined) return undefined;
  const base = parseBaseUrl(text, '--upstream');
  const token = runtime.env.SVC_UPSTREAM_TOKEN || undefined;
  if (token && base.protocol === 'http:' && !isLoopback(base)) {
    throw new Failure('guard', `SVC_UPSTREAM_TOKEN would go to ${base.origin} over plain http`, { hint: 'use https' });
  }
  const way = await wayTo(base, {}, {}, runtime);
  const { overNetwork } = await import('../http/network.ts');
  const line = overNetwork(way);
  return { answer: upstreamAt(base, token, line.send, runtime.after), close: line.close };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
