import type { AutofillSettings } from '../body/autofill.ts';
import type { CertificateFiles } from '../config/certificates.ts';
import { readConnectOptions, resolveLimits } from '../config/connect-options.ts';
import { type Destination, missingBaseUrl, resolveDestination } from '../config/destination.ts';
import type { HistoryMode, SelectedProfile } from '../config/select-profile.ts';
import { resolveDefaults, resolveHistoryMode, resolveSetting, selectProfile } from '../config/select-profile.ts';
import { parseHeaderFlags, profileHeaders, readSettingValue } from '../config/setting-kinds.ts';
import { findSetting } from '../config/settings.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../errors.ts';
import { type HttpHeaders, mergeHeaders } from '../http/message.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';
import type { OutputFormat, RequestKindOptions } from '../output/output-format.ts';
import { requestedFilter, requestedFormat, requestResultKind } from '../output/output-format.ts';
import type { SettingOptions } from './request-flags.ts';

export interface Settings {
  readonly operation: Operation;
  readonly profile: SelectedProfile;
  readonly destination: Destination | undefined;
  readonly headers: HttpHeaders;
  readonly certificateFiles: CertificateFiles;
  readonly timeoutMs: number | undefined;
  readonly isTimeoutDefault: boolean;
  readonly maxRetries: number;
  readonly areRetriesDefault: boolean;
  /** Statuses with which the service refuses a request without running it. */
  readonly overloadStatuses: readonly number[];
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

/** The settings of another operation of the same host. */
export function settingsOfOperation(operation: Operation, settings: Settings): Settings {
  const { destination } = settings;
  const base = destination?.url.href.slice(0, -settings.operation.path.length);
  return {
    ...settings,
    operation,
    destination: destination && { ...destination, url: new URL(base + operation.path) },
  };
}

/**
 * Resolves all settings, before a body is built or stdin is read; nothing after it reads flags of connections, environment
 * or profile again. `profile` is one that is not selected by flags. Throws usage for contradictions, invalid values and
 * a missing base URL, and Failure `local_file` for files that cannot be read.
 */
export async function resolveSettings(
  operation: Operation,
  options: Partial<SettingOptions & RequestKindOptions>,
  context: Context,
  profile?: SelectedProfile,
): Promise<Settings> {
  const { runtime, signal } = context;
  const { env } = runtime;
  const previewFormat = options.dryRun ? 'dry-run' : options.curl ? 'curl' : undefined;
  const flagHeaders = parseHeaderFlags(options.header ?? []);
  const isExact = options.exact === true;
  const filter = requestedFilter(options);
  if (previewFormat && filter)
    throw usageFailure(
      `--${filter.flag} cannot be combined with --${previewFormat}: there is no result to filter`,
      previewFormat === 'curl' ? `remove --${filter.flag}` : "pipe the body instead: svc ... --dry-run | jq '<filter>'",
    );
  const format =
    options.view === 'table' ? 'table' : requestedFormat(requestResultKind(operation.result.as, options), options);
  const selected = profile ?? (await selectProfile(options, context));
  const target = await resolveDestination(operation, options.baseUrl, selected, context);
  const sources = { options, env, selected };
  const limits = resolveLimits(operation, sources);
  const { timeoutMs } = limits;
  const traceAuth = resolveSetting('trace_auth', sources);
  if (traceAuth) readSettingValue(findSetting('trace_auth'), traceAuth.text, traceAuth.label, runtime.cwd);
  const history = resolveHistoryMode(sources);
  if (!target && !previewFormat) throw missingBaseUrl({ env }, selected);
  if (target?.isLocal && previewFormat === 'curl')
    throw usageFailure('--curl needs a URL, and --local has none', 'run svc serve, and pass its URL with --base-url');
  const { cacert, cert, key } = options;
  const certificateFiles = { cacert, cert, key };
  const connectOptions =
    target && !target.isLocal && !previewFormat
      ? await readConnectOptions(target.url, certificateFiles, selected.profile, { runtime, signal, timeoutMs })
      : {};
  const fills = Object.values(flagTarget(operation).fields).map(({ fill }) => fill);
  const isFilled = !isExact && (fills.includes('project') || fills.includes('model'));
  const defaults = await resolveDefaults(selected, context, isFilled);
  const ownHeaders = profileHeaders(selected, target?.url);
  return {
    operation,
    profile: selected,
    destination: target && { ...target, ...connectOptions, isPlainHttpAllowed: options.allowHttp === true },
    headers: mergeHeaders(ownHeaders, flagHeaders),
    certificateFiles,
    ...limits,
    isExact,
    isStrict: options.strict === true,
    isCheckDisabled: options.noCheck === true,
    history: history ?? 'off',
    keepsPrompts: history !== 'off',
    defaults,
    previewFormat,
    format,
    output: options.output,
  };
}
