import type { RunCommand } from '../../command.ts';
import { removeFromKeychain } from '../../config/credentials/keychain.ts';
import { getProfile, type Profile, parseProfileName } from '../../config/profile.ts';
import { updateProfiles } from '../../config/profile-store.ts';
import { selectProfile } from '../../config/select-profile.ts';

/** Removes the credentials of a profile; its addresses and settings stay. */
export const runAuthLogout: RunCommand = async ({ flags }, context) => {
  const { runtime, report, signal } = context;
  const { name } = await selectProfile(flags, context, 'to list the profiles, run: svc profile list');
  parseProfileName(name);
  let before: Profile = {};
  await updateProfiles(context, (stored) => {
    before = getProfile(stored, name);
    const { username, password, token, password_key, token_key, basic_origins, bearer_origins, ...rest } = before;
    return hasCredentials(before) ? { ...stored, profiles: { ...stored.profiles, [name]: rest } } : stored;
  });
  for (const warning of await removeFromKeychain(before, {}, runtime, signal)) await report.warn(warning);
  await report.note(hasCredentials(before) ? `removed the credentials of "${name}"` : `"${name}" has no credentials`);
};

function hasCredentials({ password, token, password_key, token_key }: Profile): boolean {
  return [password, token, password_key, token_key].some((secret) => secret !== undefined);
}
