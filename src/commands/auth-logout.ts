import type { Run } from '../cli/command.ts';
import { textOf } from '../fields/flag.ts';
import { profileName, profileOf } from '../profiles/profile.ts';
import { chooseProfile } from '../profiles/resolve.ts';
import { changeProfiles } from '../profiles/store.ts';

/** Removes the credentials of a profile; its addresses and settings stay. */
export const runAuthLogout: Run = async ({ flags }, { runtime, report }) => {
  const { name } = await chooseProfile({ profile: textOf(flags, 'profile'), local: false }, runtime);
  profileName(name);
  let had = false;
  await changeProfiles(runtime, (stored) => {
    const { username, password, token, basic_origins, bearer_origins, ...rest } = profileOf(stored, name);
    had = password !== undefined || token !== undefined;
    return had ? { ...stored, profiles: { ...stored.profiles, [name]: rest } } : stored;
  });
  await report.note(had ? `removed the credentials of "${name}"` : `"${name}" has no credentials`);
};
