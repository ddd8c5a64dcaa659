import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import type { RunCommand } from '../command.ts';
import { parseBaseUrl } from '../config/base-url.ts';
import { readConnectOptions } from '../config/connect-options.ts';
import { dataDirectory } from '../config/environment.ts';
import { isPostgresUrl, parsePostgresUrl, readPostgresPassword } from '../config/postgres-address.ts';
import { parseDurationOrZeroMs, parseNumeric } from '../config/setting-kinds.ts';
import { environmentSetting } from '../config/settings.ts';
import type { Context } from '../context.ts';
import { safetyFailure, toFailure, usageFailure } from '../errors.ts';
import { parseAgeStart } from '../fields/string-formats.ts';
import { parseByteSize } from '../files/byte-size.ts';
import { describeFileError } from '../files/file-errors.ts';
import { makeDirectory } from '../files/file-replacement.ts';
import type { OptionsOfList } from '../flag.ts';
import { isLoopbackUrl } from '../http/proxy.ts';
import { type FaultRule, parseFaultRule } from '../local-service/fault-rule.ts';
import { openHarRecorder, openHarReplay } from '../local-service/har.ts';
import { withFaults } from '../local-service/inject-faults.ts';
import { listenOnLoopback } from '../local-service/listen.ts';
import type { LocalService, LocalServiceOptions } from '../local-service/open-local-service.ts';
import { databaseFileIn, openLocalService, openServiceStore } from '../local-service/open-local-service.ts';
import { createRequestMetrics, requestLogLine } from '../local-service/request-metrics.ts';
import { serviceLimits } from '../local-service/service-context.ts';
import {
  createPageLogin,
  loadServiceCredentials,
  MAX_CODE_AGE_MS,
  type PageLogin,
} from '../local-service/service-credentials.ts';
import { deleteFeedback, pruneStore, type ServiceStore } from '../local-service/store/service-store.ts';
import { createTraceMaker } from '../local-service/store/traces.ts';
import { createUpstream } from '../local-service/upstream.ts';
import type { ResultOptions } from '../output/output-format.ts';
import { pluralize } from '../output/transfer-text.ts';
import { openResultOutput, printResult, resultOf } from '../results/print-result.ts';
import type { Runtime } from '../runtime.ts';
import type { serveFlags } from './definitions/command-flags.ts';

/** Runs the local service on a port until a signal ends it, which is a success. */
export const runServe: RunCommand<ResultOptions & OptionsOfList<typeof serveFlags>> = async (
  { options: given },
  context,
) => {
  const { runtime, report, signal, extendShutdown } = context;
  const output = await openResultOutput('report', given, context);
  const { prune: pruneAge, drain, log, replay, record } = given;
  const port = given.port === undefined ? 0 : parsePort(given.port);
  const { databaseFile, address } = readDataFlag(given.data, runtime);
  const models = given.models === undefined ? undefined : parseModels(given.models);
  const maxBodyBytes = given.maxBody === undefined ? undefined : parseByteSize('--max-body', given.maxBody);
  if (pruneAge !== undefined) parseAgeStart('--prune', pruneAge, runtime.now());
  const drainMs = drain === undefined ? serviceLimits.drainMs : parseDurationOrZeroMs('--drain', drain);
  const postgres = address && { address, password: await readPostgresPassword(address, runtime, report.warn) };
  if (postgres?.password) report.addSecrets([postgres.password]);
  const faultRules = (given.fault ?? []).map(parseFaultRule);
  const upstream = await openUpstream(given.upstream, runtime, signal);
  const source = { databaseFile, postgres, trust: { userId: runtime.userId, warn: report.warn } };
  const store = replay !== undefined ? undefined : await openServiceStore(source, runtime.now());
  // After the data: a file that is not a database gets no credentials beside it.
  const authSetup = given.noAuth
    ? undefined
    : await loadServiceCredentials(given.credentials, databaseFile, runtime, report.warn);
  const login = createPageLogin(runtime);
  const traceMaker = store && createTraceMaker(store, runtime.after);
  const options: LocalServiceOptions = {
    databaseFile,
    store,
    credentials: authSetup?.credentials,
    upstream: upstream?.answer,
    models,
    login,
    maxBodyBytes,
    faults: store && openFaults(faultRules, store, runtime),
    checksRules: faultRules.some(({ deletesOldFeedback }) => deletesOldFeedback),
    onRequestEnd: (summary) => {
      if (summary.method === 'POST') traceMaker?.onWrite();
      if (log === 'text' || log === 'json') void report.line(requestLogLine(summary, log, runtime.now()));
    },
  };
  const service = await openServeService({ replay, record }, options, context);
  const cancelPruning = store && pruneAge !== undefined ? await startPruning(store, pruneAge, context) : undefined;
  // Once for requests in flight, and once for clients that are slow to read the end of a stream.
  extendShutdown(2 * drainMs);
  const { url, close } = await listenOnLoopback(service, port, runtime.after, { ...serviceLimits, drainMs });
  const { file: credentialsFile = null, variables = [] } = authSetup ?? {};
  const data = address?.label ?? databaseFile;
  const credentials = { credentials_file: credentialsFile, credentials_variables: variables };
  const facts = { url, pid: runtime.pid, data, ...credentials };
  await printResult({ ...resultOf(facts), text: () => `${url}\n` }, output);
  if (port === 0) await report.note(`to keep this URL at the next start, add --port ${new URL(url).port}`);
  if (credentialsFile) await report.note(`the credentials are in ${credentialsFile}`);
  if (variables.length > 0) await report.note(`the service accepts the credentials of ${variables.join(', ')}`);
  if (!authSetup) await report.warn('every user of this machine can use the service (--no-auth)');
  const closePage = given.open ? await openPage(url, authSetup && login, context) : undefined;
  if (!signal.aborted) await once(signal, 'abort');
  cancelPruning?.();
  traceMaker?.close();
  await closePage?.();
  await close();
  await upstream?.close();
  // Last, because it may report what went wrong.
  await service.close();
};

function openFaults(rules: readonly FaultRule[], store: ServiceStore, runtime: Runtime) {
  const deleteRecord = (project: string, id: string) =>
    store.commit(() => deleteFeedback([{ project_id: project, id }]));
  return rules.length > 0 ? withFaults(rules, runtime, deleteRecord) : undefined;
}

// Returns a function that removes what the browser was given.
async function openPage(url: string, login: PageLogin | undefined, { runtime, report }: Context) {
  let remove = async (): Promise<void> => {};
  const link = login ? `${url}/#code=${login.createCode(() => void remove())}` : url;
  if (login) await report.note(`open within 60 s, once: ${link}`);
  try {
    const redirect = login && (await writeRedirect(link, runtime));
    if (redirect) {
      const cancelTimeout = runtime.after(MAX_CODE_AGE_MS, () => void remove());
      remove = () => {
        cancelTimeout();
        return redirect.remove();
      };
    }
    const missing = await openBrowser(redirect?.path ?? url, runtime);
    if (missing) await report.warn(`could not start ${missing}; open ${link} in a browser`);
  } catch (error) {
    await report.warn(`could not write a file for the browser: ${describeFileError(error)}; open ${link} in a browser`);
  }
  return () => remove();
}

// With a database server, the path that the file would have: the credentials are kept beside it.
function readDataFlag(data: string | undefined, runtime: Runtime) {
  if (data !== undefined && !isPostgresUrl(data)) {
    const hint = 'use a file, or a URL like postgres://user@host/database';
    // The text is not shown: it may contain a password.
    if (/^[a-z][a-z0-9+.-]+:\/\//i.test(data)) throw usageFailure('--data cannot be a URL of this kind', hint);
    return { databaseFile: resolve(runtime.cwd, data), address: undefined };
  }
  const address =
    data === undefined
      ? undefined
      : parsePostgresUrl(data, environmentSetting('pguser', runtime.env) ?? systemUserName());
  return { databaseFile: databaseFileIn(dataDirectory(runtime)), address };
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
  return parseNumeric('--port', text, 'a number from 0 to 65535', (one) =>
    /^\d{1,5}$/.test(one) && Number(one) <= 65_535 ? Number(one) : undefined,
  );
}

function parseModels(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (!names.includes('')) return names;
  throw usageFailure(`--models has an empty name: ${JSON.stringify(text)}`, 'separate names by commas, such as a,b');
}

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

async function openServeService(
  har: { readonly replay: string | undefined; readonly record: string | undefined },
  options: LocalServiceOptions,
  { runtime, report }: Context,
): Promise<LocalService> {
  const { replay: replayFile, record: recordFile } = har;
  if (replayFile !== undefined) {
    const { send, requireAllRecorded } = await openHarReplay(resolve(runtime.cwd, replayFile), options.credentials);
    const { observe } = createRequestMetrics(options.onRequestEnd, runtime.elapsed);
    return { send, observe, close: async () => requireAllRecorded() };
  }
  if (recordFile === undefined) return openLocalService(options, runtime);
  const { password, token } = options.credentials ?? {};
  const recorder = await openHarRecorder(resolve(runtime.cwd, recordFile), [password, token], runtime, report.warn);
  const service = await openLocalService(options, runtime);
  const close = (): Promise<void> => service.close().finally(recorder.close);
  return { ...service, send: recorder.record(service.send), close };
}

async function openUpstream(text: string | undefined, runtime: Runtime, signal: AbortSignal) {
  if (text === undefined) return undefined;
  const base = parseBaseUrl(text, '--upstream');
  const token = environmentSetting('upstream_token', runtime.env);
  if (token && base.protocol === 'http:' && !isLoopbackUrl(base))
    throw safetyFailure('insecure_transport', `SVC_UPSTREAM_TOKEN would be sent to ${base.origin} over plain http`, {
      hint: 'use an https:// URL with --upstream',
    });
  const noFiles = { cacert: undefined, cert: undefined, key: undefined };
  const options = await readConnectOptions(base, noFiles, {}, { runtime, signal });
  const { openHttpTransport } = await import('../http/transport.ts');
  const transport = openHttpTransport(options);
  return { answer: createUpstream(base, token, transport.send, runtime.after), close: transport.close };
}

/** Opens a URL or a file in the program of BROWSER, else in the default browser. Returns the program's name if it cannot start. */
function openBrowser(target: string, { env, platform, cwd }: Runtime): Promise<string | undefined> {
  const program = env.BROWSER || (platform === 'darwin' ? 'open' : 'xdg-open');
  // A browser passes its environment on to its children; credentials of services and databases are not for them.
  const isOwn = (name: string): boolean => /^(SVC_|PG)/i.test(name);
  const browserEnv = Object.fromEntries(Object.entries(env).filter(([name]) => !isOwn(name)));
  const child = spawn(program, [target], { env: browserEnv, cwd, stdio: 'ignore', detached: true });
  child.unref();
  return once(child, 'spawn').then(
    () => undefined,
    () => program,
  );
}

/** A file (0600) that redirects to a link, because every user can read the arguments of a program. Throws if it cannot be written. */
async function writeRedirect(link: string, runtime: Runtime) {
  const directory = dataDirectory(runtime);
  const path = join(directory, `open-${Buffer.from(runtime.randomBytes(8)).toString('hex')}.html`);
  await makeDirectory(directory, 0o700);
  await writeFile(path, `<!doctype html>\n<meta http-equiv="refresh" content="0; url=${link}">\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  return { path, remove: (): Promise<void> => rm(path, { force: true }).catch(() => {}) };
}
