import type { AutofillSetting } from '../body/autofill.ts';
import { parseDurationMs } from '../config/parse-duration.ts';
import type { Profile } from '../config/profile.ts';
import type { CertificateFiles } from '../config/route.ts';
import type { ConnectionFlags, SelectedProfile } from '../config/select-profile.ts';
import { usageFailure } from '../errors.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag } from '../flag.ts';
import type { Headers } from '../http/message.ts';
import type { Operation } from '../operations/operation.ts';
import { type OutputFormat, requestedFormat } from '../results/output-format.ts';
import type { Runtime } from '../runtime.ts';
import { parseHeaderFlags } from './request-headers.ts';

/** What the shared flags of an operation say. */
export interface OperationOptions {
  readonly connectionFlags: ConnectionFlags;
  readonly certificateFiles: CertificateFiles;
  readonly headers: Headers;
  readonly allowHttp: boolean;
  readonly exact: boolean;
  readonly strict: boolean;
  readonly noCheck: boolean;
  readonly previewFormat: 'dry-run' | 'curl' | undefined;
  readonly format: OutputFormat | undefined;
  readonly output: string | undefined;
}

/** Reads the shared flags. Throws usage where two of them contradict each other. */
export function readOperationOptions({ host, result }: Operation, flags: FlagValues): OperationOptions {
  const isFlagOn = (name: string): boolean => getBooleanFlag(flags, name) === true;
  const noCheck = getBooleanFlag(flags, 'check') === false;
  if (isFlagOn('strict') && noCheck)
    throw usageFailure('--strict and --no-check contradict each other', 'give one of them');
  if (isFlagOn('dry-run') && isFlagOn('curl'))
    throw usageFailure('--dry-run and --curl are two ways to send nothing', 'give one of them');
  return {
    connectionFlags: {
      profile: getStringFlag(flags, 'profile'),
      isLocal: isFlagOn('local'),
      baseUrl: getStringFlag(flags, 'base-url'),
      hostUrl: getStringFlag(flags, `${host}-base-url`),
    },
    certificateFiles: readCertificateFlags(flags),
    headers: parseHeaderFlags(getArrayFlag(flags, 'header')),
    allowHttp: isFlagOn('allow-http'),
    exact: isFlagOn('exact'),
    strict: isFlagOn('strict'),
    noCheck,
    previewFormat: isFlagOn('dry-run') ? 'dry-run' : isFlagOn('curl') ? 'curl' : undefined,
    format: requestedFormat(result.as, flags),
    output: getStringFlag(flags, 'output'),
  };
}

/** The files about trust that the flags name. */
export function readCertificateFlags(flags: FlagValues): CertificateFiles {
  return {
    cacert: getStringFlag(flags, 'cacert'),
    cert: getStringFlag(flags, 'cert'),
    key: getStringFlag(flags, 'key'),
  };
}

/** The time limit for the whole exchange in milliseconds: flag, environment, profile, else that of the operation. */
export function resolveTimeoutMs(
  flags: FlagValues,
  env: Runtime['env'],
  profile: Profile,
  { limit }: Operation,
): number | undefined {
  const [source, text] = resolveSetting('timeout', flags, env, profile);
  if (text === undefined) return limit === undefined ? undefined : limit * 1000;
  return parseDurationMs(source, text);
}

/** As many repeats as PRODUCT.md section 7 gives. */
export const DEFAULT_MAX_RETRIES = 3;

/** How often a failed request may be repeated: flag, environment, profile, else 3 times. Throws usage for what is no number up to 99. */
export function resolveMaxRetries(flags: FlagValues, env: Runtime['env'], profile: Profile): number {
  const [source, text] = resolveSetting('retries', flags, env, profile);
  if (text === undefined) return DEFAULT_MAX_RETRIES;
  if (!/^\d{1,2}$/.test(text))
    throw usageFailure(`${source} cannot be ${JSON.stringify(text)}`, 'write a number from 0 to 99');
  return Number(text);
}

/** What the environment or the profile say where a body names no project or model. */
export function resolveAutofillValue(
  name: 'project_id' | 'model',
  { name: profile, profile: stored }: SelectedProfile,
  env: Runtime['env'],
): AutofillSetting {
  const variable = `SVC_${name.toUpperCase()}`;
  return env[variable] ? { text: env[variable], from: variable } : { text: stored[name], from: `profile "${profile}"` };
}

/** What gives a setting, and its text, unchecked; no text where nothing gives one. */
export function resolveSetting(
  name: 'timeout' | 'retries',
  flags: FlagValues,
  env: Runtime['env'],
  profile: Profile,
): [source: string, text: string | undefined] {
  const variable = `SVC_${name.toUpperCase()}`;
  const sources = [
    [`--${name}`, getStringFlag(flags, name)],
    [variable, env[variable]],
    [`the ${name} of the profile`, profile[name]],
  ] as const;
  const [source = '', text] = sources.find(([, value]) => value) ?? [];
  return [source, text];
}
