import type { Run } from '../cli/command.ts';
import { textOf } from '../fields/flag.ts';
import { forgetInKeychain } from '../profiles/keychain.ts';
import { type Profile, profileName, profileOf } from '../profiles/profile.ts';
import { chooseProfile } from '../profiles/resolve.ts';
import { changeProfiles } from '../profiles/store.ts';

/** Removes the credentials of a profile; its addresses and settings stay. */
export const runAuthLogout: Run = async ({ flags }, { runtime, report, signal }) => {
  const { name } = await chooseProfile({ profile: textOf(flags, 'profile'), local: false }, runtime);
  profileName(name);
  let before: Profile = {};
  await changeProfiles(runtime, (stored) => {
    before = profileOf(stored, name);
    const { username, password, token, password_key, token_key, basic_origins, bearer_origins, ...rest } = before;
    return hasCredentials(before) ? { ...stored, profiles: { ...stored.profiles, [name]: rest } } : stored;
  });
  for (const warning of await forgetInKeychain(before, {}, runtime, signal)) await report.warn(warning);
  await report.note(hasCredentials(before) ? `removed the credentials of "${name}"` : `"${name}" has no credentials`);
};

function hasCredentials({ password, token, password_key, token_key }: Profile): boolean {
  return [password, token, password_key, token_key].some((held) => held !== undefined);
}
