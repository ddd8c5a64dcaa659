import { access, constants } from 'node:fs/promises';
import { parseHeaderFlags } from '../client/request-headers.ts';
import type { RunCommand } from '../command.ts';
import { removeFromKeychain } from '../config/credentials/keychain.ts';
import { promptLine } from '../config/credentials/prompt.ts';
import { originMismatchWarnings } from '../config/origin-mismatch.ts';
import {
  DEFAULT_PROFILE_NAME,
  LOCAL_PROFILE_NAME,
  type Profile,
  parseProfileName,
  profileNamed,
} from '../config/profile.ts';
import { applyProfileChanges, type ProfileChanges, readProfileChanges } from '../config/profile-changes.ts';
import { readProfiles } from '../config/read-profiles.ts';
import { profileOrigins, type ServiceHost, selectProfile } from '../config/select-profile.ts';
import { updateProfiles } from '../config/update-profiles.ts';
import { usageFailure } from '../errors.ts';
import { describeFileError } from '../files/file-errors.ts';
import { getArrayFlag, getBooleanFlag } from '../flag.ts';
import { isSecretHeader } from '../http/verbose-log.ts';
import type { JsonValue } from '../json/write-json.ts';
import type { Reporter } from '../output/reporter.ts';
import { openResultOutput, printResult, resultOf } from '../results/print-result.ts';

/** Lists the profiles, the built-in one last; the one in use is marked. */
export const runProfileList: RunCommand = async ({ flags }, context) => {
  const output = await openResultOutput('rows', flags, context);
  const { env } = context.runtime;
  const stored = await readProfiles(context);
  const inUse = env.SVC_PROFILE || stored.current || DEFAULT_PROFILE_NAME;
  const rows = [...Object.keys(stored.profiles).sort(), LOCAL_PROFILE_NAME].map((name) => ({
    name,
    in_use: name === inUse,
    base_url: name === LOCAL_PROFILE_NAME ? 'the embedded service' : (profileNamed(stored, name).base_url ?? null),
  }));
  const table = (): string[][] => [
    ['', 'NAME', 'BASE URL'],
    ...rows.map(({ name, in_use, base_url }) => [in_use ? '*' : '', name, base_url ?? '']),
  ];
  await printResult({ ...resultOf(rows), table }, output);
  await context.stdout.end();
};

/** Shows what a profile holds, every secret as `[hidden]`. */
export const runProfileShow: RunCommand = async ({ args, flags }, context) => {
  const output = await openResultOutput('record', flags, context);
  const { name, profile } = await selectProfile({ profile: args[0], isLocal: false }, context);
  await printResult(resultOf({ name, ...redactProfile(profile) }), output);
  await context.stdout.end();
};

function redactProfile({ password, token, headers, ...rest }: Profile): { readonly [setting: string]: JsonValue } {
  const redactedHeaders = Object.entries(headers ?? {}).map(
    ([name, value]) => [name, isSecretHeader(name) ? '[hidden]' : value] as const,
  );
  return {
    ...rest,
    ...(password === undefined ? {} : { password: '[hidden]' }),
    ...(token === undefined ? {} : { token: '[hidden]' }),
    ...(headers === undefined ? {} : { headers: Object.fromEntries(redactedHeaders) }),
  };
}

/** Makes a profile the one that counts where none is named. */
export const runProfileUse: RunCommand = async ({ args: [name = ''] }, context) => {
  const { report } = context;
  await updateProfiles(context, (stored) => {
    if (name !== LOCAL_PROFILE_NAME && !Object.hasOwn(stored.profiles, parseProfileName(name))) {
      throw usageFailure(`profile "${name}" does not exist`, 'for the list of profiles, run: svc profile list');
    }
    return { ...stored, current: name };
  });
  await report.note(`using the profile "${name}" from now on`);
};

/** Removes a profile with its credentials, after asking; without a terminal `--yes` must say so. */
export const runProfileRemove: RunCommand = async ({ args: [name = ''], flags }, context) => {
  const { runtime, report, signal } = context;
  if (!Object.hasOwn((await readProfiles(context)).profiles, parseProfileName(name))) {
    throw usageFailure(`profile "${name}" does not exist`, 'for the list of profiles, run: svc profile list');
  }
  if (!getBooleanFlag(flags, 'yes')) {
    const answer = await promptLine(runtime, `Remove the profile "${name}" and its credentials? [y/N] `, '--yes');
    if (!/^y(es)?$/i.test(answer.trim())) return report.note('nothing was removed');
  }
  let before: Profile = {};
  await updateProfiles(context, ({ current, profiles, ...others }) => {
    const { [name]: removed = {}, ...rest } = profiles;
    before = removed;
    return { ...others, ...(current === undefined || current === name ? {} : { current }), profiles: rest };
  });
  for (const warning of await removeFromKeychain(before, {}, runtime, signal)) await report.warn(warning);
  await report.note(`removed the profile "${name}"`);
};

/** Changes settings of a profile; an empty value removes one. Credentials stay bound to the origins they belong to. */
export const runProfileSet: RunCommand = async ({ args: [typedName = ''], flags }, context) => {
  const { runtime, report } = context;
  const name = parseProfileName(typedName);
  const changes = readProfileChanges(flags, runtime.cwd);
  // An empty header removes all headers, as an empty value removes any other setting.
  const headers = Object.fromEntries(parseHeaderFlags(getArrayFlag(flags, 'header').filter((word) => word !== '')));
  if (Object.keys(changes).length === 0 && !flags.has('header'))
    throw usageFailure('no setting given', 'for the list of settings, run: svc profile set --help');
  let after: Profile = {};
  await updateProfiles(context, (stored) => {
    const set = withCommand(applyProfileChanges(profileNamed(stored, name), changes), changes);
    after = flags.has('header') ? withHeaders(set, headers) : set;
    return { ...stored, profiles: { ...stored.profiles, [name]: after } };
  });
  if (changes.cacert) await warnIfUnreadable(String(changes.cacert), report);
  for (const warning of originMismatchWarnings(name, after)) await report.warn(warning);
};

function withHeaders(
  { headers: _, header_origins, ...profile }: Profile,
  headers: Required<Profile>['headers'],
): Profile {
  if (Object.keys(headers).length === 0) return profile;
  return { ...profile, headers, header_origins: requireOrigins(profile, 'headers belong', ['trace', 'chat', 'train']) };
}

// The command prints the password of the trace service and the token of the others, as stored credentials are bound.
function withCommand(profile: Profile, { credential_command: change }: ProfileChanges): Profile {
  if (change === undefined) return profile;
  const { basic_command_origins, bearer_command_origins, ...rest } = profile;
  if (change === '') return rest;
  requireOrigins(rest, 'a credential_command belongs', ['trace', 'chat', 'train']);
  return {
    ...rest,
    basic_command_origins: profileOrigins(rest, ['trace']),
    bearer_command_origins: profileOrigins(rest, ['chat', 'train']),
  };
}

function requireOrigins(profile: Profile, subject: string, hosts: readonly ServiceHost[]): string[] {
  const origins = profileOrigins(profile, hosts);
  if (origins.length > 0) return origins;
  throw usageFailure(`${subject} to a base URL, and the profile has none`, 'add --base-url');
}

async function warnIfUnreadable(path: string, report: Reporter): Promise<void> {
  await access(path, constants.R_OK).catch((error: unknown) =>
    report.warn(`cannot read ${path}: ${describeFileError(error)}`),
  );
}
