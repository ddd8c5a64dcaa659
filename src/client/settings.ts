import type { AutofillSettings } from '../body/autofill.ts';
import { joinUrl } from '../config/base-url.ts';
import { type CertificateFiles, readConnectOptions } from '../config/connect-options.ts';
import { LOCAL_PROFILE_NAME } from '../config/profile-store.ts';
import { readProjectFile } from '../config/project-file.ts';
import {
  findBaseUrl,
  resolveBaseUrl,
  resolveSetting,
  type SelectedProfile,
  type ServiceHost,
  type SettingSources,
  selectProfile,
} from '../config/select-profile.ts';
import { parseCount, parseDurationMs } from '../config/setting-kinds.ts';
import { findSetting } from '../config/settings.ts';
import type { Context } from '../context.ts';
import { type Failure, invalidValueFailure, usageFailure } from '../errors.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag, isFlagOn } from '../flag.ts';
import { getHeader, type HttpHeaders } from '../http/message.ts';
import type { ConnectOptions } from '../http/open-socket.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import { type OutputFormat, requestedFilter, requestedFormat, requestResultKind } from '../results/output-format.ts';
import type { Runtime } from '../runtime.ts';

/** Everything that flags, environment, project file and profile say about the requests of an operation. */
export interface Settings {
  readonly operation: Operation;
  readonly profile: SelectedProfile;
  /** Undefined without a base URL, which only a dry run accepts. */
  readonly destination: Destination | undefined;
  readonly headers: HttpHeaders;
  readonly certificateFiles: CertificateFiles;
  readonly timeoutMs: number | undefined;
  /** True if neither flag, environment nor profile sets the time limit. */
  readonly isTimeoutDefault: boolean;
  readonly maxRetries: number;
  readonly isExact: boolean;
  readonly isStrict: boolean;
  readonly isCheckDisabled: boolean;
  readonly history: HistoryMode;
  /** Interactive chats remember what is typed, unless the history is set to off. */
  readonly keepsPrompts: boolean;
  /** The project and model for bodies that name none. */
  readonly defaults: Pick<AutofillSettings, 'project' | 'model'>;
  readonly previewFormat: 'dry-run' | 'curl' | undefined;
  readonly format: OutputFormat | undefined;
  readonly output: string | undefined;
}

type HistoryMode = 'off' | 'on' | 'bodies';

/**
 * Resolves all settings, before a body is built or stdin is read; nothing after it reads flags of connections, environment
 * or profile again. `profile` is one that is not selected by flags. Reports a base URL that is ignored. Throws usage for
 * contradictions, invalid values and a missing base URL, and Failure `local_file` for files that cannot be read.
 */
export async function resolveSettings(
  operation: Operation,
  flags: FlagValues,
  context: Context,
  profile?: SelectedProfile,
): Promise<Settings> {
  const { runtime, signal, report } = context;
  const { env } = runtime;
  const previewFormat = isFlagOn(flags, 'dry-run') ? 'dry-run' : isFlagOn(flags, 'curl') ? 'curl' : undefined;
  const filter = requestedFilter(flags);
  if (previewFormat && filter)
    throw usageFailure(
      `--${filter.flag} cannot be combined with --${previewFormat}: there is no result to filter`,
      `remove --${filter.flag}`,
    );
  const flagHeaders = parseHeaderFlags(getArrayFlag(flags, 'header'));
  const format =
    getStringFlag(flags, 'view') === 'table'
      ? 'table'
      : requestedFormat(requestResultKind(operation.result.as, flags), flags);
  const selected = profile ?? (await selectProfile(flags, context));
  const target = resolveDestination(operation, flags, selected, env);
  const ignored = ignoredBaseUrlNote(operation.host, selected, env);
  if (ignored !== undefined) await report.note(ignored);
  const sources = { flags, env, selected };
  const timeoutMs = resolveTimeoutMs(sources, operation);
  const maxRetries = resolveMaxRetries(sources);
  const certificateFiles = readCertificateFlags(flags);
  if (!target && !previewFormat) throw missingBaseUrl(selected);
  if (target?.isLocal && previewFormat === 'curl')
    throw usageFailure('--curl needs a URL, and --local has none', 'run svc serve, and pass its URL with --base-url');
  const connectOptions =
    target && !target.isLocal && !previewFormat
      ? await readConnectOptions(target.url, certificateFiles, selected.profile, { runtime, signal, timeoutMs })
      : {};
  const ownHeaders = profileHeaders(selected, target?.url.origin);
  return {
    operation,
    profile: selected,
    destination: target && { ...target, ...connectOptions, isPlainHttpAllowed: isFlagOn(flags, 'allow-http') },
    headers: [...ownHeaders.filter(([name]) => getHeader(flagHeaders, name) === undefined), ...flagHeaders],
    certificateFiles,
    timeoutMs,
    isTimeoutDefault: resolveSetting('timeout', sources) === undefined,
    maxRetries,
    isExact: isFlagOn(flags, 'exact'),
    isStrict: isFlagOn(flags, 'strict'),
    isCheckDisabled: getBooleanFlag(flags, 'check') === false,
    history: resolveHistoryMode(sources),
    keepsPrompts: resolveHistoryMode(sources) !== 'off' || resolveSetting('history', sources) === undefined,
    defaults: await resolveDefaults(operation, flags, selected, context),
    previewFormat,
    format,
    output: getStringFlag(flags, 'output'),
  };
}

export function readCertificateFlags(flags: FlagValues): CertificateFiles {
  const [cacert, cert, key] = ['cacert', 'cert', 'key'].map((name) => getStringFlag(flags, name));
  return { cacert, cert, key };
}

/** The time limit for the whole exchange in milliseconds: flag, environment, profile, else that of the operation. */
export function resolveTimeoutMs(sources: SettingSources, { limit }: Operation): number | undefined {
  const timeout = resolveSetting('timeout', sources);
  if (timeout) return parseDurationMs(timeout.label, timeout.text);
  return limit === undefined ? undefined : limit * 1000;
}

/** The maximum number of retries: flag, environment, profile, else the default. Throws usage for anything but 0 to 99. */
export function resolveMaxRetries(sources: SettingSources): number {
  const retries = resolveSetting('retries', sources);
  return retries ? parseCount(retries.label, retries.text) : Number(findSetting('retries').default);
}

/** The mode of the history: SVC_HISTORY or the profile; `1` is `on`. Throws usage for any other value. */
export function resolveHistoryMode(sources: SettingSources): HistoryMode {
  const setting = resolveSetting('history', sources);
  const text = setting?.text === '1' ? 'on' : setting?.text === '0' ? 'off' : (setting?.text ?? 'off');
  if (text === 'off' || text === 'on' || text === 'bodies') return text;
  throw invalidValueFailure(setting?.label ?? '', text, 'off, on or bodies');
}

async function resolveDefaults(
  operation: Operation,
  flags: FlagValues,
  selected: SelectedProfile,
  { runtime, report }: Context,
): Promise<Settings['defaults']> {
  const fields = Object.values(flagTarget(operation).fields);
  const isUsed = fields.some(({ fill }) => fill === 'project' || fill === 'model') && !isFlagOn(flags, 'exact');
  const project = isUsed ? await readProjectFile(runtime, report.warn) : undefined;
  const sources = { env: runtime.env, project, selected };
  const read = (name: 'project_id' | 'model'): Settings['defaults']['project'] => {
    const { text, source = '' } = resolveSetting(name, sources) ?? {};
    return { text, from: source };
  };
  return { project: read('project_id'), model: read('model') };
}

// svc sets these headers itself.
const RESERVED_HEADERS =
  /^(content-type|content-length|authorization|host|transfer-encoding|connection|expect|upgrade|keep-alive)$/i;

/** The headers of `-H 'Name: value'`. Throws usage for one that is malformed or not for users to set. */
export function parseHeaderFlags(values: readonly string[]): HttpHeaders {
  return values.map((text) => {
    const [, name = '', value = ''] = /^([^:]*):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
    return requireValidHeader(name, value, '--header');
  });
}

// Those that belong to an origin. Throws as parseHeaderFlags does.
function profileHeaders({ name: profileName, profile }: SelectedProfile, origin: string | undefined): HttpHeaders {
  const { headers = {}, header_origins: origins = [] } = profile;
  if (origin === undefined || !origins.includes(origin)) return [];
  const source = `profile "${profileName}": header`;
  return Object.entries(headers).map(([name, value]) => requireValidHeader(name, value, source));
}

function requireValidHeader(name: string, value: string, source: string): HttpHeaders[number] {
  // The value is not repeated: it may be a secret.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
    throw usageFailure(`${source} needs a name and a value`, "write -H 'Name: value'");
  if (RESERVED_HEADERS.test(name)) throw usageFailure(`${source} cannot set ${name}`, 'svc sets that header itself');
  const message = `${source} ${name} has characters that a header cannot contain`;
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw usageFailure(message, 'use only printable characters of Latin-1');
  return [name, value];
}

/** Where the requests of an operation go, and how to connect. For the local service and for a dry run, no file of TLS is read. */
export interface Destination extends ConnectOptions {
  readonly url: URL;
  readonly isLocal: boolean;
  readonly profile: string;
  /** The profile has a base URL of this origin. */
  readonly isInProfile: boolean;
}

// The local service has no URL; svc never connects to this one.
const LOCAL_ORIGIN = 'http://localhost';

// Undefined without a base URL. Throws usage for an invalid one.
function resolveDestination(
  { host, path }: Operation,
  flags: FlagValues,
  selected: SelectedProfile,
  env: Runtime['env'],
): Destination | undefined {
  const { name: profile, isLocal } = selected;
  if (isLocal && getStringFlag(flags, 'base-url')) throw baseUrlOfLocalFailure(selected.source);
  const baseUrl = isLocal ? new URL(LOCAL_ORIGIN) : resolveBaseUrl(host, flags, env, selected.profile);
  if (!baseUrl) return undefined;
  const { base_url, trace_base_url, chat_base_url, train_base_url } = selected.profile;
  const isInProfile = [base_url, trace_base_url, chat_base_url, train_base_url].some(
    (base = '') => URL.canParse(base) && new URL(base).origin === baseUrl.origin,
  );
  return { url: new URL(joinUrl(baseUrl, path)), isLocal, profile, isInProfile };
}

/** The destination as files record it: its URL, or `local`; empty for none. */
export function recordedUrl(destination: Pick<Destination, 'url' | 'isLocal'> | undefined): string {
  return destination?.isLocal ? 'local' : (destination?.url.href ?? '');
}

/** The base URL of a call start, as the spool records it. */
export function traceBaseUrl(destination: Destination | undefined): string {
  return recordedUrl(destination).replace(/\/call\/start$/, '');
}

// A note on a base URL of the environment that the local service, which the command line does not name, makes useless.
function ignoredBaseUrlNote(host: ServiceHost, selected: SelectedProfile, env: Runtime['env']): string | undefined {
  const { isLocal, source } = selected;
  const ignored = isLocal && !source.startsWith('--') && findBaseUrl(host, new Map(), env, {});
  if (!ignored) return undefined;
  return `${ignored.source} is ignored, because the profile "${LOCAL_PROFILE_NAME}" of ${source} uses the local service`;
}

function baseUrlOfLocalFailure(source: string): Failure {
  if (source === '--local') return usageFailure('--local cannot be combined with --base-url', 'remove one of them');
  return usageFailure(
    `--base-url cannot be combined with the profile "${LOCAL_PROFILE_NAME}" of ${source}`,
    `remove --base-url, or name another profile with --profile`,
  );
}

/** The failure of a request without a base URL. A profile that `--profile` names rules `--local` out. */
export function missingBaseUrl(selected?: Pick<SelectedProfile, 'name' | 'source'>): Failure {
  return usageFailure(
    'no base URL is set',
    selected?.source === '--profile'
      ? `run: svc auth login --profile ${selected.name} --base-url <url>`
      : 'run: svc auth login --base-url <url>, or add --local to use the local service',
  );
}
