import { parseHeaders } from '../call/request.ts';
import type { Run } from '../cli/command.ts';
import { usage } from '../errors.ts';
import { listOf } from '../fields/flag.ts';
import { type Profile, profileName, profileOf } from '../profiles/profile.ts';
import { originsOf } from '../profiles/resolve.ts';
import { changeProfiles } from '../profiles/store.ts';
import { strandedCredentials } from '../profiles/stranded.ts';
import { changed, readSettings } from './settings.ts';

/** Changes settings of a profile; an empty value removes one. Credentials stay, bound to the addresses they were given for. */
export const runProfileSet: Run = async ({ args: [typed = ''], flags }, { runtime, report }) => {
  const name = profileName(typed);
  const changes = readSettings(flags);
  const headers = Object.fromEntries(parseHeaders(listOf(flags, 'header')));
  if (Object.keys(changes).length === 0 && !flags.has('header'))
    throw usage('there is nothing to set', 'svc profile set --help shows what there is');
  let after: Profile = {};
  await changeProfiles(runtime, (stored) => {
    after = withHeaders(changed(profileOf(stored, name), changes), flags.has('header') ? headers : undefined);
    return { ...stored, profiles: { ...stored.profiles, [name]: after } };
  });
  for (const warning of strandedCredentials(name, after)) await report.warn(warning);
};

function withHeaders(profile: Profile, headers: Profile['headers'] | undefined): Profile {
  if (headers === undefined) return profile;
  const origins = originsOf(profile, ['trace', 'chat', 'train']);
  if (origins.length === 0)
    throw usage('headers belong to an address, and the profile has none', 'give --base-url as well');
  return { ...profile, headers, header_origins: origins };
}
