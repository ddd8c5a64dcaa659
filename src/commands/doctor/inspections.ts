import { access, constants, readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { exchangeErrorReason } from '../../client/exchange-failure.ts';
import { promptHistoryFile, requestHistoryFile } from '../../client/request-history.ts';
import { resolveSettings } from '../../client/resolve-settings.ts';
import { probeFeedbackSchema } from '../../client/send.ts';
import { caCertificateFiles, readConnectOptions } from '../../config/connect-options.ts';
import { configDirectory, dataDirectory } from '../../config/environment.ts';
import { profileStorePath } from '../../config/profile-store.ts';
import { toFailure } from '../../errors.ts';
import { describeFileError, isNotFoundError } from '../../files/file-errors.ts';
import { formatMode } from '../../files/trusted-file.ts';
import { type ConnectOptions, openSocket } from '../../http/open-socket.ts';
import { TimeLimitError, timeLimits } from '../../http/time-limits.ts';
import { readTlsInfo, type TlsInfo } from '../../http/tls.ts';
import { databaseFileIn } from '../../local-service/open-local-service.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';
import { pluralize } from '../../output/transfer-text.ts';
import { spoolDirectory } from '../../trace/spool.ts';
import { jobHistoryFile } from '../../train/job-history.ts';
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

/** The files and directories svc uses, with modes as in `chmod`, and the sizes of files and of the spool. */
export async function inspectFiles({ options, selected, context: { runtime }, findings }: Examination) {
  const [config, data] = [configDirectory(runtime), dataDirectory(runtime)];
  const { cacert, cert, key } = options;
  const clientFiles = { cert, key };
  const paths: readonly (readonly [what: string, path: string])[] = [
    ['profiles', profileStorePath(runtime)],
    ['profiles directory', config],
    ['data', databaseFileIn(data)],
    ['data directory', data],
    ['request history', requestHistoryFile(runtime)],
    ['prompt history', promptHistoryFile(runtime)],
    ['job history', jobHistoryFile(data)],
    ['spool', spoolDirectory(data)],
    ...caCertificateFiles(cacert, selected.profile, runtime.env).map(
      ({ source, path }) => [source, resolve(runtime.cwd, path)] as const,
    ),
    ...Object.entries(clientFiles).flatMap(([flag, path]) =>
      path ? [[`--${flag}`, resolve(runtime.cwd, path)] as const] : [],
    ),
  ];
  const files = await Promise.all(
    paths.map(async ([what, path]) => {
      const stats = await statOrUndefined(path);
      const bytes = stats && (stats.isFile() || what === 'spool') ? await totalBytes(path) : null;
      return { what, path, exists: stats !== undefined, mode: stats ? formatMode(stats.mode) : null, bytes };
    }),
  );
  const [profiles, directory] = files;
  const isOpenToOthers = (mode: string): boolean => runtime.platform !== 'win32' && !mode.endsWith('00');
  if (profiles?.mode && isOpenToOthers(profiles.mode))
    findings.push({
      message: `other users can read the profiles in ${profiles.path} (${profiles.mode})`,
      hint: `chmod 600 ${profiles.path}`,
      code: 'safety_check',
    });
  if (profiles?.mode && directory?.mode && isOpenToOthers(directory.mode))
    findings.push({ message: `other users can list ${config} (${directory.mode})`, hint: `chmod 700 ${config}` });
  // Locks, and what saves that were killed leave beside the store.
  for (const name of await readdir(config).catch(() => []))
    if (name.startsWith('config.json.'))
      findings.push({
        message: `${join(config, name)} exists: another svc is saving now, or was killed while saving`,
        hint: 'if no svc is running, remove it',
      });
  if (selected.isLocal)
    await requireWritable(data).catch((error: unknown) => {
      const message = `the data directory ${data} cannot be used: ${describeFileError(error)}`;
      findings.push({ message, hint: 'set SVC_DATA_DIR to another directory', code: 'local_file' });
    });
  return files;
}

// Of a file with the write-ahead log of a database, or of the files in a directory.
async function totalBytes(path: string): Promise<number> {
  const names = await readdir(path).catch(() => undefined);
  const parts = names?.map((name) => join(path, name)) ?? [path, `${path}-wal`];
  const found = await Promise.all(parts.map(statOrUndefined));
  return found.reduce((sum, stats) => sum + (stats?.size ?? 0), 0);
}

async function statOrUndefined(path: string) {
  // The code that reads a file reports why it cannot be read.
  return stat(path).catch(() => undefined);
}

// A directory that does not exist yet can be created if the nearest one above it is writable.
async function requireWritable(directory: string): Promise<void> {
  try {
    await access(`${directory}/.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (!isNotFoundError(error) || dirname(directory) === directory || (await statOrUndefined(directory))) throw error;
    await requireWritable(dirname(directory));
  }
}
