import { access, constants } from 'node:fs/promises';
import { parseHeaderFlags } from '../../client/settings.ts';
import type { RunCommand } from '../../command.ts';
import { removeFromKeychain } from '../../config/credentials/keychain.ts';
import { confirm } from '../../config/credentials/prompt.ts';
import {
  DEFAULT_PROFILE_NAME,
  getProfile,
  LOCAL_PROFILE_NAME,
  type Profile,
  parseProfileName,
  requireStoredProfile,
} from '../../config/profile.ts';
import { readProfiles, updateProfiles } from '../../config/profile-store.ts';
import { originMismatchWarnings, profileOrigins } from '../../config/select-profile.ts';
import { applyProfileChanges, type ProfileChanges, readProfileChanges } from '../../config/setting-kinds.ts';
import { usageFailure } from '../../errors.ts';
import { describeFileError } from '../../files/file-errors.ts';
import { getArrayFlag } from '../../flag.ts';

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
    const set = withCommand(applyProfileChanges(getProfile(stored, name), changes), changes);
    after = flags.has('header') ? withHeaders(set, headers) : set;
    return { ...stored, profiles: { ...stored.profiles, [name]: after } };
  });
  const cacert = changes.cacert && String(changes.cacert);
  if (cacert)
    await access(cacert, constants.R_OK).catch((error: unknown) =>
      report.warn(`cannot read ${cacert}: ${describeFileError(error)}`),
    );
  for (const warning of originMismatchWarnings(name, after)) await report.warn(warning);
};

function withHeaders(
  { headers: _, header_origins, ...profile }: Profile,
  headers: Required<Profile>['headers'],
): Profile {
  if (Object.keys(headers).length === 0) return profile;
  return { ...profile, headers, header_origins: requireOrigins(profile, 'headers need') };
}

// The command prints the password of the trace service and the token of the others, as stored credentials are bound.
function withCommand(profile: Profile, { credential_command: change }: ProfileChanges): Profile {
  if (change === undefined) return profile;
  const { basic_command_origins, bearer_command_origins, ...rest } = profile;
  if (change === '') return rest;
  requireOrigins(rest, 'a credential command needs');
  return {
    ...rest,
    basic_command_origins: profileOrigins(rest, ['trace']),
    bearer_command_origins: profileOrigins(rest, ['chat', 'train']),
  };
}

function requireOrigins(profile: Profile, subject: string): string[] {
  const origins = profileOrigins(profile, ['trace', 'chat', 'train']);
  if (origins.length > 0) return origins;
  throw usageFailure(`${subject} a base URL, but the profile has none`, 'add --base-url');
}

/** Makes a profile the default. */
export const runProfileUse: RunCommand = async ({ args: [name = ''] }, context) => {
  const { report } = context;
  await updateProfiles(context, (stored) => {
    if (name !== LOCAL_PROFILE_NAME) requireStoredProfile(stored, name);
    return { ...stored, current: name };
  });
  await report.note(`using the profile "${name}" from now on`);
};

/** Removes a profile with its credentials, after asking; without a terminal `--yes` must say so. */
export const runProfileRemove: RunCommand = async ({ args: [name = ''], flags }, context) => {
  const { runtime, report, signal } = context;
  requireStoredProfile(await readProfiles(context), name);
  if (!(await confirm(context, `Remove the profile "${name}" and its credentials?`, flags)))
    return report.note('nothing was removed');
  let before: Profile = {};
  let wasInUse = false;
  await updateProfiles(context, ({ current, profiles, ...others }) => {
    const { [name]: removed = {}, ...rest } = profiles;
    before = removed;
    wasInUse = current === name && name !== DEFAULT_PROFILE_NAME;
    return { ...others, ...(current === undefined || current === name ? {} : { current }), profiles: rest };
  });
  for (const warning of await removeFromKeychain(before, {}, runtime, signal)) await report.warn(warning);
  const fallback = wasInUse ? `, which was in use; svc now uses "${DEFAULT_PROFILE_NAME}"` : '';
  await report.note(`removed the profile "${name}"${fallback}`);
};
