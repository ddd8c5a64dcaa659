import { parseDurationMs } from '../config/parse-duration.ts';
import { resolveSetting, type SettingSources } from '../config/resolve-setting.ts';
import type { CertificateFiles } from '../config/route.ts';
import type { ConnectionFlags } from '../config/select-profile.ts';
import { parseCount } from '../config/setting-kinds.ts';
import { findSetting } from '../config/settings.ts';
import { usageFailure } from '../errors.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag, isFlagOn } from '../flag.ts';
import type { Headers } from '../http/message.ts';
import type { Operation } from '../operations/operation.ts';
import { type OutputFormat, requestedFormat, requestResultKind } from '../results/output-format.ts';
import { parseHeaderFlags } from './request-headers.ts';

/** The values of the shared flags of an operation. */
export interface OperationOptions {
  readonly connectionFlags: ConnectionFlags;
  readonly certificateFiles: CertificateFiles;
  readonly headers: Headers;
  readonly isPlainHttpAllowed: boolean;
  readonly isExact: boolean;
  readonly isStrict: boolean;
  readonly isCheckDisabled: boolean;
  readonly previewFormat: 'dry-run' | 'curl' | undefined;
  readonly format: OutputFormat | undefined;
  readonly output: string | undefined;
}

/** Reads the shared flags. Throws usage if two of them contradict each other. */
export function readOperationOptions({ result }: Operation, flags: FlagValues): OperationOptions {
  const previewFormat = isFlagOn(flags, 'dry-run') ? 'dry-run' : isFlagOn(flags, 'curl') ? 'curl' : undefined;
  if (previewFormat && flags.has('jq'))
    throw usageFailure(`--jq cannot be combined with --${previewFormat}: there is no result to filter`, 'remove --jq');
  return {
    connectionFlags: {
      profile: getStringFlag(flags, 'profile'),
      isLocal: isFlagOn(flags, 'local'),
      baseUrl: getStringFlag(flags, 'base-url'),
    },
    certificateFiles: readCertificateFlags(flags),
    headers: parseHeaderFlags(getArrayFlag(flags, 'header')),
    isPlainHttpAllowed: isFlagOn(flags, 'allow-http'),
    isExact: isFlagOn(flags, 'exact'),
    isStrict: isFlagOn(flags, 'strict'),
    isCheckDisabled: getBooleanFlag(flags, 'check') === false,
    previewFormat,
    format:
      getStringFlag(flags, 'view') === 'table' ? 'table' : requestedFormat(requestResultKind(result.as, flags), flags),
    output: getStringFlag(flags, 'output'),
  };
}

/** The certificate files that the flags name. */
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
