import type { RunCommand } from '../../command.ts';
import { parseBaseUrl } from '../../config/base-url.ts';
import { removeFromKeychain, storeInKeychain } from '../../config/credentials/keychain.ts';
import { promptLine } from '../../config/credentials/prompt.ts';
import { configDirectory } from '../../config/directories.ts';
import {
  DEFAULT_PROFILE_NAME,
  getProfile,
  LOCAL_PROFILE_NAME,
  type Profile,
  parseProfileName,
} from '../../config/profile.ts';
import { profileStorePath, readProfiles, updateProfiles } from '../../config/profile-store.ts';
import { originMismatchWarnings, profileOrigins } from '../../config/select-profile.ts';
import { applyProfileChanges, type ProfileChanges, readProfileChanges } from '../../config/setting-kinds.ts';
import type { Context } from '../../context.ts';
import { usageFailure } from '../../errors.ts';
import { getBooleanFlag, getStringFlag, isFlagOn } from '../../flag.ts';
import { readLoginCredentials } from './login-credentials.ts';
import { verifyCredentials } from './verify-credentials.ts';

/**
 * Verifies credentials if a harmless request can, and stores them in a profile, bound to its current origins. Secrets
 * come from stdin, a file or a hidden prompt. Throws Failure `credentials` for what the service rejects.
 */
export const runAuthLogin: RunCommand = async ({ flags }, context) => {
  const { runtime, report, signal } = context;
  const stored = await readProfiles(context);
  const current = stored.current === LOCAL_PROFILE_NAME ? undefined : stored.current;
  const name = parseProfileName(
    getStringFlag(flags, 'profile') || runtime.env.SVC_PROFILE || current || DEFAULT_PROFILE_NAME,
  );
  const changes = readProfileChanges(flags, runtime.cwd);
  requireValues(changes, name);
  const settings = await withBaseUrl(getProfile(stored, name), changes, context);
  const changed = applyProfileChanges(getProfile(stored, name), settings);
  const entered = await readLoginCredentials(name, changed, flags, context);
  if (getBooleanFlag(flags, 'verify') !== false)
    await verifyCredentials(name, replaceCredentials(changed, entered), entered, context);
  const credentials = isFlagOn(flags, 'keychain') ? await moveToKeychain(entered, name, context) : entered;
  let before: Profile = {};
  let after: Profile = {};
  let selected = name;
  try {
    // Reads the profile again: another svc process may have changed it in the meantime.
    await updateProfiles(context, ({ current: currentName = name, profiles, ...rest }) => {
      selected = currentName;
      before = getProfile({ profiles }, name);
      after = replaceCredentials(applyProfileChanges(before, settings), credentials);
      return { ...rest, current: currentName, profiles: { ...profiles, [name]: after } };
    });
  } catch (error) {
    await removeFromKeychain(credentials, before, runtime, signal);
    throw error;
  }
  for (const warning of await removeFromKeychain(before, after, runtime, signal)) await report.warn(warning);
  for (const warning of originMismatchWarnings(name, after)) await report.warn(warning);
  if (after.credential_command)
    await report.warn(`credential_command of profile "${name}" takes precedence over the stored credentials`);
  await report.note(`stored in profile "${name}" in ${profileStorePath(configDirectory(runtime))}`);
  if (selected !== name && !runtime.env.SVC_PROFILE)
    await report.note(`the profile in use is still "${selected}"; to use this one, run: svc profile use ${name}`);
};

// An unset variable of a CI job must not remove what the profile has.
function requireValues(changes: ProfileChanges, profile: string): void {
  const empty = Object.keys(changes).find((name) => changes[name] === '');
  if (empty === undefined) return;
  const flag = `--${empty.replaceAll('_', '-')}`;
  throw usageFailure(`${flag} is empty`, `to remove the value, run: svc profile set ${profile} ${flag} ''`);
}

async function withBaseUrl(profile: Profile, settings: ProfileChanges, context: Context): Promise<ProfileChanges> {
  if (profileOrigins(applyProfileChanges(profile, settings), ['trace', 'chat', 'train']).length > 0) return settings;
  const base_url = (await promptLine(context, 'Base URL: ', '--base-url')).trim();
  parseBaseUrl(base_url, 'base URL');
  return { ...settings, base_url };
}

async function moveToKeychain(entered: Profile, name: string, { runtime, report, signal }: Context): Promise<Profile> {
  const { credentials, why } = await storeInKeychain(entered, name, runtime, signal);
  if (why !== undefined)
    await report.warn(`the secret is stored in the profile file (mode 0600), not in the keychain: ${why}`);
  return credentials;
}

// A new secret replaces the one of its kind, in the profile or in the keychain.
function replaceCredentials(profile: Profile, credentials: Profile): Profile {
  const { password, password_key, ...withoutPassword } = profile;
  const withoutReplaced = credentials.basic_origins ? withoutPassword : profile;
  const { token, token_key, ...withoutToken } = withoutReplaced;
  return { ...(credentials.bearer_origins ? withoutToken : withoutReplaced), ...credentials };
}
