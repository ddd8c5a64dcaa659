import type { AutofillSettings } from '../body/autofill.ts';
import { joinUrl } from '../config/base-url.ts';
import { type CertificateFiles, readConnectOptions } from '../config/connect-options.ts';
import { parseDurationMs } from '../config/parse-duration.ts';
import { LOCAL_PROFILE_NAME } from '../config/profile.ts';
import { readProjectFile } from '../config/project-file.ts';
import { resolveSetting, type SettingSources } from '../config/resolve-setting.ts';
import { findBaseUrl, resolveBaseUrl, type SelectedProfile, selectProfile } from '../config/select-profile.ts';
import { parseCount } from '../config/setting-kinds.ts';
import { findSetting } from '../config/settings.ts';
import type { Context } from '../context.ts';
import { type Failure, invalidValueFailure, usageFailure } from '../errors.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag, isFlagOn } from '../flag.ts';
import { getHeader, type HttpHeaders } from '../http/message.ts';
import type { ConnectOptions } from '../http/open-socket.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import { type OutputFormat, requestedFilter, requestedFormat, requestResultKind } from '../results/output-format.ts';

/** Everything that flags, environment, project file and profile say about the requests of an operation. */
export interface Settings {
  readonly operation: Operation;
  readonly profile: SelectedProfile;
  /** Undefined without a base URL, which only a dry run accepts. */
  readonly destination: Destination | undefined;
  readonly headers: HttpHeaders;
  readonly certificateFiles: CertificateFiles;
  readonly timeoutMs: number | undefined;
  readonly isTimeoutDefault: boolean;
  readonly maxRetries: number;
  readonly isExact: boolean;
  readonly isStrict: boolean;
  readonly isCheckDisabled: boolean;
  readonly history: HistoryMode;
  /** Interactive chats keep what is typed, unless the history is set to off. */
  readonly keepsPrompts: boolean;
  readonly defaults: Pick<AutofillSettings, 'project' | 'model'>;
  readonly previewFormat: 'dry-run' | 'curl' | undefined;
  readonly format: OutputFormat | undefined;
  readonly output: string | undefined;
}

type HistoryMode = 'off' | 'on' | 'bodies';

/**
 * Resolves all settings, before a body is built or stdin is read; nothing after it reads flags of connections, environment
 * or profile again. `profile` is one that is not selected by flags. Throws usage for contradictions, invalid values and
 * a missing base URL, and Failure `local_file` for files that cannot be read.
 */
export async function resolveSettings(
  operation: Operation,
  flags: FlagValues,
  context: Context,
  profile?: SelectedProfile,
): Promise<Settings> {
  const { runtime, signal } = context;
  const { env } = runtime;
  const previewFormat = isFlagOn(flags, 'dry-run') ? 'dry-run' : isFlagOn(flags, 'curl') ? 'curl' : undefined;
  const filter = requestedFilter(flags);
  if (previewFormat && filter)
    throw usageFailure(
      `--${filter.flag} cannot be combined with --${previewFormat}: there is no result to filter`,
      `remove --${filter.flag}`,
    );
  const format =
    getStringFlag(flags, 'view') === 'table'
      ? 'table'
      : requestedFormat(requestResultKind(operation.result.as, flags), flags);
  const flagHeaders = parseHeaderFlags(getArrayFlag(flags, 'header'));
  const selected = profile ?? (await selectProfile(flags, context));
  const target = await resolveDestination(operation, flags, selected, context);
  const sources = { flags, env, selected };
  const [timeout, retries] = [resolveSetting('timeout', sources), resolveSetting('retries', sources)];
  const defaultTimeoutMs = operation.limit === undefined ? undefined : operation.limit * 1000;
  const timeoutMs = timeout ? parseDurationMs(timeout.label, timeout.text) : defaultTimeoutMs;
  const history = resolveHistoryMode(sources);
  const maxRetries = retries ? parseCount(retries.label, retries.text) : Number(findSetting('retries').default);
  if (!target && !previewFormat) throw missingBaseUrl(selected);
  if (target?.isLocal && previewFormat === 'curl')
    throw usageFailure('--curl needs a URL, and --local has none', 'run svc serve, and pass its URL with --base-url');
  const certificateFiles = readCertificateFlags(flags);
  const connectOptions =
    target && !target.isLocal && !previewFormat
      ? await readConnectOptions(target.url, certificateFiles, selected.profile, { runtime, signal, timeoutMs })
      : {};
  const defaults = await resolveDefaults(operation, flags, selected, context);
  const ownHeaders = profileHeaders(selected, target?.url.origin);
  return {
    operation,
    profile: selected,
    destination: target && { ...target, ...connectOptions, isPlainHttpAllowed: isFlagOn(flags, 'allow-http') },
    headers: [...ownHeaders.filter(([name]) => getHeader(flagHeaders, name) === undefined), ...flagHeaders],
    certificateFiles,
    timeoutMs,
    isTimeoutDefault: timeout === undefined,
    maxRetries,
    isExact: isFlagOn(flags, 'exact'),
    isStrict: isFlagOn(flags, 'strict'),
    isCheckDisabled: getBooleanFlag(flags, 'check') === false,
    history: history ?? 'off',
    keepsPrompts: history !== 'off',
    defaults,
    previewFormat,
    format,
    output: getStringFlag(flags, 'output'),
  };
}

export function readCertificateFlags(flags: FlagValues): CertificateFiles {
  return {
    cacert: getStringFlag(flags, 'cacert'),
    cert: getStringFlag(flags, 'cert'),
    key: getStringFlag(flags, 'key'),
  };
}

/** The mode of the history that SVC_HISTORY or the profile sets; `1` is `on`. Throws usage for any other value. */
export function resolveHistoryMode(sources: SettingSources): HistoryMode | undefined {
  const { text, label = '' } = resolveSetting('history', sources) ?? {};
  if (text === undefined || text === 'off' || text === 'on' || text === 'bodies') return text;
  if (text === '0' || text === '1') return text === '1' ? 'on' : 'off';
  throw invalidValueFailure(label, text, 'off, on or bodies');
}

async function resolveDefaults(
  operation: Operation,
  flags: FlagValues,
  selected: SelectedProfile,
  { runtime, report }: Context,
): Promise<Settings['defaults']> {
  const fields = Object.values(flagTarget(operation).fields);
  const isUsed = fields.some(({ fill }) => fill === 'project' || fill === 'model') && !isFlagOn(flags, 'exact');
  const sources = {
    env: runtime.env,
    project: isUsed ? await readProjectFile(runtime, report.warn) : undefined,
    selected,
  };
  const [project, model] = [resolveSetting('project_id', sources), resolveSetting('model', sources)];
  return {
    project: { text: project?.text, from: project?.source ?? '' },
    model: { text: model?.text, from: model?.source ?? '' },
  };
}

const RESERVED_HEADERS =
  /^(content-type|content-length|authorization|host|transfer-encoding|connection|expect|upgrade|keep-alive)$/i;

/** The headers of `-H 'Name: value'`. Throws usage for one that is malformed or not for users to set. */
export function parseHeaderFlags(values: readonly string[]): HttpHeaders {
  return values.map((text) => {
    const [, name = '', value = ''] = /^([^:]*):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
    return requireValidHeader(name, value, '--header');
  });
}

function profileHeaders({ name: profileName, profile }: SelectedProfile, origin = ''): HttpHeaders {
  const { headers = {}, header_origins: origins = [] } = profile;
  if (!origins.includes(origin)) return [];
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
  readonly isInProfile: boolean;
}

// The local service has no URL; svc never connects to this one.
const LOCAL_ORIGIN = 'http://localhost';

async function resolveDestination(
  { host, path }: Operation,
  flags: FlagValues,
  { name: profile, isLocal, source, profile: stored }: SelectedProfile,
  { runtime: { env }, report }: Context,
): Promise<Destination | undefined> {
  const localProfile = `the profile "${LOCAL_PROFILE_NAME}" of ${source}`;
  if (isLocal && getStringFlag(flags, 'base-url'))
    throw source === '--local'
      ? usageFailure('--local cannot be combined with --base-url', 'remove one of them')
      : usageFailure(
          `--base-url cannot be combined with ${localProfile}`,
          'remove --base-url, or name another profile with --profile',
        );
  // The command line does not name the local service.
  const ignored = isLocal && !source.startsWith('--') && findBaseUrl(host, new Map(), env, {});
  if (ignored) await report.note(`${ignored.source} is ignored, because ${localProfile} uses the local service`);
  const baseUrl = isLocal ? new URL(LOCAL_ORIGIN) : resolveBaseUrl(host, flags, env, stored);
  if (!baseUrl) return undefined;
  const isInProfile = [stored.base_url, stored.trace_base_url, stored.chat_base_url, stored.train_base_url].some(
    (base = '') => URL.canParse(base) && new URL(base).origin === baseUrl.origin,
  );
  return { url: new URL(joinUrl(baseUrl, path)), isLocal, profile, isInProfile };
}

/** The destination as files record it: its URL, or `local`; empty for none. */
export function recordedUrl(destination: Pick<Destination, 'url' | 'isLocal'> | undefined): string {
  return destination?.isLocal ? 'local' : (destination?.url.href ?? '');
}

export function traceBaseUrl(destination: Destination | undefined): string {
  return recordedUrl(destination).replace(/\/call\/start$/, '');
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
