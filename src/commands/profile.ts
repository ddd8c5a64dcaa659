import { access, constants } from 'node:fs/promises';
import type { RunCommand } from '../command.ts';
import { overrideWarning } from '../config/base-url.ts';
import { findCredentialSource, isOpenOrigin, loginHint } from '../config/credentials/credential.ts';
import { confirm } from '../config/credentials/prompt.ts';
import { removeFromKeychain } from '../config/credentials/secret-programs.ts';
import {
  DEFAULT_PROFILE_NAME,
  getProfile,
  LOCAL_PROFILE_NAME,
  type Profile,
  parseProfileName,
  readProfiles,
  requireStoredProfile,
  updateProfiles,
} from '../config/profile-store.ts';
import { originMismatchWarnings, profileOrigins, schemeOrigins, selectProfile } from '../config/select-profile.ts';
import type { ProfileChanges } from '../config/setting-kinds.ts';
import { applyProfileChanges, parseHeaderFlags, readProfileChanges } from '../config/setting-kinds.ts';
import { environmentSetting, type ServiceOptions, type StoredOptions } from '../config/settings.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../errors.ts';
import { describeFileError } from '../files/file-errors.ts';
import type { OptionsOfList } from '../flag.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import type { ResultOptions } from '../output/output-format.ts';
import { isSecretHeader, REDACTED, redactUserInfo } from '../output/redaction.ts';
import { ignoreClosedPipe } from '../output/writer.ts';
import { openResultOutput, printResult, resultOf } from '../results/print-result.ts';
import type { yesFlag } from './definitions/command-flags.ts';

/** Changes settings of a profile; an empty value removes one. Credentials stay bound to the origins they belong to. */
export const runProfileSet: RunCommand<StoredOptions> = async ({ args: [typedName = ''], options }, context) => {
  const { runtime, report } = context;
  const name = parseProfileName(typedName);
  const changes = readProfileChanges(options, runtime.cwd);
  if (Object.keys(changes).length === 0 && options.header === undefined)
    throw usageFailure('no setting given', 'for the list of settings, run: svc profile set --help');
  const { after } = await updateProfiles(context, (stored) => {
    const changed = withCommand(applyProfileChanges(getProfile(stored, name), changes), changes);
    const profile = options.header !== undefined ? withHeaders(changed, options.header ?? []) : changed;
    return { ...stored, profiles: { ...stored.profiles, [name]: profile } };
  });
  const cacert = changes.cacert && String(changes.cacert);
  if (cacert)
    await access(cacert, constants.R_OK).catch((error: unknown) =>
      report.warn(`cannot read ${cacert}: ${describeFileError(error)}`),
    );
  for (const warning of originMismatchWarnings(name, getProfile(after, name))) await report.warn(warning);
};

function withHeaders({ headers: _, header_origins, ...profile }: Profile, given: readonly string[]): Profile {
  // An empty header removes all headers, as an empty value removes any other setting.
  const headers = parseHeaderFlags(given.filter((word) => word !== ''));
  if (headers.length === 0) return profile;
  return { ...profile, headers: Object.fromEntries(headers), header_origins: requireOrigins(profile, 'headers need') };
}

// The command prints the password of the trace service and the token of the others, as stored credentials are bound.
function withCommand(profile: Profile, { credential_command: change }: ProfileChanges): Profile {
  if (change === undefined) return profile;
  const { basic_command_origins, bearer_command_origins, ...rest } = profile;
  if (change === '') return rest;
  requireOrigins(rest, 'a credential command needs');
  return {
    ...rest,
    basic_command_origins: schemeOrigins('basic', rest),
    bearer_command_origins: schemeOrigins('bearer', rest),
  };
}

function requireOrigins(profile: Profile, subject: string): string[] {
  const origins = profileOrigins(profile);
  if (origins.length > 0) return origins;
  throw usageFailure(`${subject} a base URL, but the profile has none`, 'add --base-url');
}

export const runProfileUse: RunCommand = async ({ args: [name = ''] }, context) => {
  const { after } = await updateProfiles(context, (stored) => {
    if (name !== LOCAL_PROFILE_NAME) requireStoredProfile(stored, name);
    return { ...stored, current: name };
  });
  await context.report.note(`using the profile "${name}" from now on`);
  await warnOfOverride({ name, profile: getProfile(after, name) }, context);
};

export const runProfileRemove: RunCommand<OptionsOfList<typeof yesFlag>> = async (
  { args: [name = ''], options },
  context,
) => {
  const { report } = context;
  requireStoredProfile(await readProfiles(context), name);
  if (!(await confirm(context, `Remove the profile "${name}" and its credentials?`, options.yes)))
    return report.note('nothing was removed');
  const { before } = await updateProfiles(context, ({ current, profiles, ...others }) => {
    const { [name]: _, ...rest } = profiles;
    return { ...others, ...(current === undefined || current === name ? {} : { current }), profiles: rest };
  });
  const wasInUse = before.current === name && name !== DEFAULT_PROFILE_NAME;
  await removeFromKeychain(getProfile(before, name), {}, context);
  const fallback = wasInUse ? `, which was in use; svc now uses "${DEFAULT_PROFILE_NAME}"` : '';
  await report.note(`removed the profile "${name}"${fallback}`);
};

export const runProfileList: RunCommand<ResultOptions> = async ({ options }, context) => {
  const output = await openResultOutput('rows', options, context);
  const stored = await readProfiles(context);
  const inUse = environmentSetting('profile', context.runtime.env) || stored.current || DEFAULT_PROFILE_NAME;
  const rows = [...Object.keys(stored.profiles).sort(), LOCAL_PROFILE_NAME].map((name) => {
    const { base_url } = name === LOCAL_PROFILE_NAME ? { base_url: 'the local service' } : getProfile(stored, name);
    return { name, in_use: name === inUse, base_url: base_url === undefined ? null : redactUserInfo(base_url) };
  });
  const table = (): string[][] => [
    ['', 'NAME', 'BASE URL'],
    ...rows.map(({ name, in_use, base_url }) => [in_use ? '*' : '', name, base_url ?? '']),
  ];
  await printResult({ ...resultOf(rows), table }, output);
};

export const runProfileShow: RunCommand<ResultOptions> = async ({ args, options }, context) => {
  await showProfile(args[0], options, context);
};

/** Shows the same. Throws Failure `credentials` if there are none. */
export const runAuthStatus: RunCommand<ResultOptions & Pick<ServiceOptions, 'profile'>> = async (
  { options },
  context,
) => {
  const { name, needsCredentials } = await showProfile(options.profile, options, context);
  if (needsCredentials)
    throw new Failure('credentials', `no credentials in the environment or the profile "${name}"`, {
      hint: loginHint('bearer', context.runtime, `svc auth login --profile ${name}`, false),
    });
};

async function warnOfOverride(named: { name: string; profile: Profile }, { report, runtime }: Context): Promise<void> {
  const override = overrideWarning(named, runtime.env);
  if (override) await report.warn(override);
}

async function showProfile(requestedName: string | undefined, options: ResultOptions, context: Context) {
  const output = await openResultOutput('report', options, context);
  const selected = await selectProfile({ profile: requestedName }, context);
  const { name, isLocal, profile } = selected;
  let problem: unknown;
  const credentials = (isLocal ? [] : (['basic', 'bearer'] as const)).flatMap((scheme) => {
    try {
      const found = findCredentialSource(scheme, selected, context.runtime);
      return found ? [{ scheme, source: found.description, username: found.username, origins: found.origins }] : [];
    } catch (error) {
      problem = error;
      return [];
    }
  });
  const open = openOrigins(profile);
  const settings = redactProfile(profile);
  const text = (): string =>
    [
      `profile: ${name}`,
      ...Object.entries(settings).map(
        ([key, value]) => `${key}: ${typeof value === 'string' ? value : writeJson(value)}`,
      ),
      ...credentials.map(
        ({ scheme, username, source, origins }) =>
          `${scheme}${username ? ` (${username})` : ''}: from ${source}${origins ? `, for ${origins.join(', ') || 'no base URL'}` : ''}`,
      ),
      ...open.map((origin) => `${origin} needs no credentials`),
      ...(isLocal ? ['the local service needs no credentials'] : []),
      '',
    ].join('\n');
  const printing = printResult({ ...resultOf({ profile: name, ...settings, credentials }), text }, output);
  await ignoreClosedPipe(printing);
  await warnOfOverride(selected, context);
  if (problem) throw problem;
  return { name, needsCredentials: credentials.length === 0 && open.length === 0 && !isLocal };
}

// A base URL that svc refuses is shown all the same.
function openOrigins(profile: Profile): string[] {
  try {
    return profileOrigins(profile).filter((origin) => isOpenOrigin(new URL(origin), profile));
  } catch {
    return [];
  }
}

function redactProfile({ password, token, headers, ...rest }: Profile): { readonly [setting: string]: JsonValue } {
  const mapEntries = <T>(record: { readonly [name: string]: T }, show: (name: string, value: T) => JsonValue) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, show(name, value)]));
  return {
    ...mapEntries(rest, (name, value) => (/base_url$/.test(name) ? redactUserInfo(String(value)) : value)),
    ...(password === undefined ? {} : { password: REDACTED }),
    ...(token === undefined ? {} : { token: REDACTED }),
    ...(headers && { headers: mapEntries(headers, (name, value) => (isSecretHeader(name) ? REDACTED : value)) }),
  };
}
