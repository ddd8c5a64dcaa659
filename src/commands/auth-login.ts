import type { Run } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { isOn, textOf } from '../fields/flag.ts';
import { parseBaseUrl } from '../profiles/base-url.ts';
import { configFolder } from '../profiles/folders.ts';
import { forgetInKeychain, keptInKeychain } from '../profiles/keychain.ts';
import { defaultProfile, localProfile, type Profile, profileName, profileOf } from '../profiles/profile.ts';
import { ask } from '../profiles/prompt.ts';
import { readProfiles, storeFile } from '../profiles/read.ts';
import { originsOf } from '../profiles/resolve.ts';
import { changeProfiles } from '../profiles/store.ts';
import { strandedCredentials } from '../profiles/stranded.ts';
import { readCredentials } from './login-credentials.ts';
import { changed, readSettings, type Settings } from './settings.ts';

/** Stores credentials in a profile, bound to the origins it has now. Secrets come from stdin, a file or a hidden prompt. */
export const runAuthLogin: Run = async ({ flags }, context) => {
  const { runtime, report, signal } = context;
  const stored = await readProfiles(runtime);
  const current = stored.current === localProfile ? undefined : stored.current;
  const name = profileName(textOf(flags, 'profile') || runtime.env.SVC_PROFILE || current || defaultProfile);
  const settings = await withAddress(profileOf(stored, name), readSettings(flags, runtime.cwd), context);
  const given = await readCredentials(changed(profileOf(stored, name), settings), flags, context);
  const credentials = isOn(flags, 'keychain') ? await inKeychain(given, name, context) : given;
  let before: Profile = {};
  let after: Profile = {};
  try {
    // On top of what is stored by then: others may have changed it while this one was asking.
    await changeProfiles(runtime, ({ current: inUse = name, profiles, ...rest }) => {
      before = profileOf({ profiles }, name);
      after = withCredentials(changed(before, settings), credentials);
      return { ...rest, current: inUse, profiles: { ...profiles, [name]: after } };
    });
  } catch (error) {
    await forgetInKeychain(credentials, before, runtime, signal);
    throw error;
  }
  for (const warning of await forgetInKeychain(before, after, runtime, signal)) await report.warn(warning);
  for (const warning of strandedCredentials(name, after)) await report.warn(warning);
  if (after.credential_command) await report.warn(`the credential_command of "${name}" comes before what is stored`);
  await report.note(`stored in the profile "${name}" in ${storeFile(configFolder(runtime))}`);
};

async function withAddress(profile: Profile, settings: Settings, { runtime }: Context): Promise<Settings> {
  if (originsOf(changed(profile, settings), ['trace', 'chat', 'train']).length > 0) return settings;
  const base_url = (await ask(runtime, 'Base address: ', '--base-url')).trim();
  parseBaseUrl(base_url, 'the base address');
  return { ...settings, base_url };
}

async function inKeychain(given: Profile, name: string, { runtime, report, signal }: Context): Promise<Profile> {
  const { credentials, why } = await keptInKeychain(given, name, runtime, signal);
  if (why !== undefined) await report.warn(`the secret goes into the profile, a file for your eyes only: ${why}`);
  return credentials;
}

// A secret that comes takes the place of the one of its kind, wherever that was.
function withCredentials(profile: Profile, credentials: Profile): Profile {
  const { password, password_key, ...withoutPassword } = profile;
  const kept = credentials.basic_origins ? withoutPassword : profile;
  const { token, token_key, ...withoutToken } = kept;
  return { ...(credentials.bearer_origins ? withoutToken : kept), ...credentials };
}
