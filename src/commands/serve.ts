import { once } from 'node:events';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import type { RunCommand } from '../command.ts';
import { parseBaseUrl } from '../config/base-url.ts';
import { readConnectOptions } from '../config/connect-options.ts';
import { dataDirectory } from '../config/directories.ts';
import { parseDurationMs } from '../config/parse-duration.ts';
import { isPostgresUrl, parsePostgresUrl, readPostgresPassword } from '../config/postgres-address.ts';
import type { Context } from '../context.ts';
import { Failure, toFailure, usageFailure } from '../errors.ts';
import { parseAgeStart } from '../fields/string-formats.ts';
import { parseByteSize } from '../files/byte-size.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag, isFlagOn } from '../flag.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import { pluralize } from '../json/pluralize.ts';
import { parseFaultRule, withFaults } from '../local-service/inject-faults.ts';
import { serviceLimits } from '../local-service/limits.ts';
import { listenOnLoopback } from '../local-service/listen.ts';
import { openBrowser } from '../local-service/open-browser.ts';
import {
  databaseFileIn,
  type LocalService,
  type LocalServiceOptions,
  openLocalService,
  openServiceStore,
} from '../local-service/open-local-service.ts';
import { isModelsPath } from '../local-service/operation-route.ts';
import { createPageLogin } from '../local-service/page-login.ts';
import { openHarRecorder } from '../local-service/record-har.ts';
import { openHarReplay } from '../local-service/replay-har.ts';
import { type RequestLogFormat, requestLogLine, withRequestSummaries } from '../local-service/request-metrics.ts';
import { loadServiceCredentials } from '../local-service/service-credentials.ts';
import { pruneStore, type ServiceStore } from '../local-service/store/service-store.ts';
import { createUpstream, type Upstream } from '../local-service/upstream.ts';
import { operationAt } from '../operations/all-operations.ts';
import { openResultOutput, printResult, resultOf } from '../results/print-result.ts';
import type { Runtime } from '../runtime.ts';

/** Runs the local service on a port until a signal ends it, which is a success. */
export const runServe: RunCommand = async ({ flags }, context) => {
  const { runtime, report, signal, extendShutdown } = context;
  const output = await openResultOutput('report', flags, context);
  const options = readServeOptions(flags, runtime);
  const { data, postgresAddress, logFormat, drainMs } = options;
  const postgres = postgresAddress && {
    address: postgresAddress,
    password: await readPostgresPassword(postgresAddress, runtime, report.warn),
  };
  if (postgres?.password) report.addSecrets([postgres.password]);
  const faultRules = getArrayFlag(flags, 'fault').map(parseFaultRule);
  const upstream = await openUpstream(flags, runtime, signal);
  const trust = { userId: runtime.userId, warn: report.warn };
  const source = { databaseFile: data, postgres, trust };
  const store =
    getStringFlag(flags, 'replay') === undefined ? await openServiceStore(source, runtime.now()) : undefined;
  // After the data: a file that is not a database gets no credentials beside it.
  const authSetup =
    getBooleanFlag(flags, 'auth') === false
      ? undefined
      : await loadServiceCredentials(getStringFlag(flags, 'credentials'), data, runtime, report.warn);
  const login = createPageLogin(runtime);
  const service = await openServeService(
    flags,
    {
      databaseFile: data,
      store,
      credentials: authSetup?.credentials,
      upstream: upstream?.answer,
      models: options.models,
      login,
      maxBodyBytes: options.maxBodyBytes,
      faults: store && faultRules.length > 0 ? withFaults(faultRules, runtime, store.removeRows) : undefined,
      checksRules: faultRules.some(({ deletesOldFeedback }) => deletesOldFeedback),
      onRequestEnd:
        logFormat === 'off'
          ? undefined
          : (summary) => void report.line(requestLogLine(summary, logFormat, runtime.now())),
    },
    runtime,
    report.warn,
  );
  const { pruneAge } = options;
  const cancelPruning = store && pruneAge !== undefined ? await startPruning(store, pruneAge, context) : undefined;
  // Once for requests in flight, and once for clients that are slow to read the end of a stream.
  extendShutdown(2 * drainMs);
  const listener = await listenOnLoopback(service, options.port, runtime.after, { ...serviceLimits, drainMs });
  const facts = {
    url: listener.url,
    pid: runtime.pid,
    data: postgres?.address.label ?? data,
    credentials_file: authSetup?.file ?? null,
  };
  await printResult({ ...resultOf(facts), text: () => `${listener.url}\n` }, output);
  if (authSetup?.file) await report.note(`the credentials are in ${authSetup.file}`);
  if (!authSetup) await report.warn('every user of this machine can use the service (--no-auth)');
  if (isFlagOn(flags, 'open')) {
    const link = authSetup ? `${listener.url}/#code=${login.createCode()}` : listener.url;
    if (authSetup) await report.note(`open within 60 s, once: ${link}`);
    const missing = await openBrowser(link, runtime);
    if (missing) await report.warn(`could not start ${missing}; open ${link} in a browser`);
  }
  if (!signal.aborted) await once(signal, 'abort');
  cancelPruning?.();
  await listener.close();
  await upstream?.close();
  // Last, because it may report what went wrong.
  await service.close();
};

const PRUNE_INTERVAL_MS = 3_600_000;

// Removes records beyond an age, now and each hour until the returned function is called.
async function startPruning(store: ServiceStore, age: string, { runtime, report, signal }: Context) {
  let cancel = (): void => {};
  const prune = async (): Promise<void> => {
    const count = await pruneStore(store, Date.parse(parseAgeStart('--prune', age, runtime.now())), signal);
    if (count > 0) await report.note(`removed ${count} ${pluralize(count, 'record')} older than ${age}`);
    schedule();
  };
  const schedule = (): void => {
    cancel = runtime.after(PRUNE_INTERVAL_MS, () =>
      prune().catch(async (error: unknown) => {
        if (signal.aborted) return;
        await report.warn(`--prune: ${toFailure(error).message}`);
        schedule();
      }),
    );
  };
  await prune();
  return () => cancel();
}

// The service, a recording of another, or the service while it is recorded.
async function openServeService(
  flags: FlagValues,
  options: LocalServiceOptions,
  runtime: Runtime,
  warn: (message: string) => Promise<void>,
): Promise<LocalService> {
  const [replayFile, recordFile] = [getStringFlag(flags, 'replay'), getStringFlag(flags, 'record')];
  if (replayFile !== undefined) {
    const { send, requireAllRecorded } = await openHarReplay(resolve(runtime.cwd, replayFile), options.credentials);
    const observe = withRequestSummaries(() => (summary) => options.onRequestEnd?.(summary), runtime.elapsed);
    return { send: observe(send), observe, close: async () => requireAllRecorded() };
  }
  const { password, token } = options.credentials ?? {};
  const recorder =
    recordFile === undefined
      ? undefined
      : await openHarRecorder(
          resolve(runtime.cwd, recordFile),
          (path) => isModelsPath(path) || operationAt(path) !== undefined,
          [password, token],
          runtime,
          warn,
        );
  const service = await openLocalService(options, runtime);
  if (!recorder) return service;
  const close = (): Promise<void> => service.close().finally(recorder.close);
  return { ...service, send: recorder.record(service.send), close };
}

function readServeOptions(flags: FlagValues, runtime: Runtime) {
  const data = getStringFlag(flags, 'data');
  const isUrl = data !== undefined && isPostgresUrl(data);
  // The text is not shown: it may contain a password.
  if (data !== undefined && !isUrl && /^[a-z][a-z0-9+.-]+:\/\//i.test(data))
    throw usageFailure(
      '--data cannot be a URL of this kind',
      'use a file, or a URL like postgres://user@host/database',
    );
  const maxBody = getStringFlag(flags, 'max-body');
  const drain = getStringFlag(flags, 'drain');
  const pruneAge = getStringFlag(flags, 'prune');
  if (pruneAge !== undefined) parseAgeStart('--prune', pruneAge, runtime.now());
  const models = getStringFlag(flags, 'models');
  return {
    port: parsePort(getStringFlag(flags, 'port') ?? '0'),
    // With a database server, the path that the file would have: the credentials are kept beside it.
    data: data === undefined || isUrl ? databaseFileIn(dataDirectory(runtime)) : resolve(runtime.cwd, data),
    postgresAddress: isUrl ? parsePostgresUrl(data, runtime.env.PGUSER || systemUserName()) : undefined,
    models: models === undefined ? undefined : parseModels(models),
    maxBodyBytes: maxBody === undefined ? undefined : parseByteSize('--max-body', maxBody),
    pruneAge,
    logFormat: logFormatOf(getStringFlag(flags, 'log')),
    drainMs: drain === undefined ? serviceLimits.drainMs : parseDurationMs('--drain', drain),
  };
}

// Undefined for a user without an entry in the user database, as in some containers.
function systemUserName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= 0 && port <= 65_535) return port;
  throw usageFailure(`--port cannot be ${JSON.stringify(text)}`, 'use a number from 0 to 65535');
}

function parseModels(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (!names.includes('')) return names;
  throw usageFailure(`--models has an empty name: ${JSON.stringify(text)}`, 'separate names by commas, such as a,b');
}

function logFormatOf(text: string | undefined): RequestLogFormat {
  return text === 'text' || text === 'json' ? text : 'off';
}

async function openUpstream(
  flags: FlagValues,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<{ answer: Upstream; close: () => Promise<void> } | undefined> {
  const text = getStringFlag(flags, 'upstream');
  if (text === undefined) return undefined;
  const base = parseBaseUrl(text, '--upstream');
  const token = runtime.env.SVC_UPSTREAM_TOKEN || undefined;
  if (token && base.protocol === 'http:' && !isLoopbackUrl(base)) {
    throw new Failure('safety_check', `SVC_UPSTREAM_TOKEN would be sent to ${base.origin} over plain http`, {
      hint: 'use an https:// URL with --upstream',
    });
  }
  const options = await readConnectOptions(base, {}, {}, { runtime, signal });
  const { openHttpTransport } = await import('../http/transport.ts');
  const transport = openHttpTransport(options);
  return { answer: createUpstream(base, token, transport.send, runtime.after), close: transport.close };
}
