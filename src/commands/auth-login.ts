import { inputsOf } from '../body/inputs.ts';
import { readText, withoutFinalNewline } from '../body/source.ts';
import type { Run } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { Failure, usage } from '../errors.ts';
import { type FlagValues, isOn, textOf } from '../fields/flag.ts';
import { parseBaseUrl } from '../profiles/base-url.ts';
import { basicAuthorization, bearerAuthorization } from '../profiles/credential.ts';
import { configFolder } from '../profiles/folders.ts';
import { defaultProfile, localProfile, type Profile, profileName, profileOf } from '../profiles/profile.ts';
import { ask, askSecret } from '../profiles/prompt.ts';
import { readProfiles, storeFile } from '../profiles/read.ts';
import { originsOf } from '../profiles/resolve.ts';
import { changeProfiles } from '../profiles/store.ts';
import { strandedCredentials } from '../profiles/stranded.ts';
import { changed, readSettings, type Settings } from './settings.ts';

/** Stores credentials in a profile, bound to the origins it has now. Secrets come from stdin, a file or a hidden prompt. */
export const runAuthLogin: Run = async ({ flags }, context) => {
  const { runtime, report } = context;
  const stored = await readProfiles(runtime);
  const current = stored.current === localProfile ? undefined : stored.current;
  const name = profileName(textOf(flags, 'profile') || runtime.env.SVC_PROFILE || current || defaultProfile);
  const settings = await withAddress(profileOf(stored, name), readSettings(flags, runtime.cwd), context);
  const credentials = await readCredentials(changed(profileOf(stored, name), settings), flags, context);
  let after: Profile = {};
  // On top of what is stored by then: others may have changed it while this one was asking.
  await changeProfiles(runtime, ({ current: inUse = name, profiles, ...rest }) => {
    after = { ...changed(profileOf({ profiles }, name), settings), ...credentials };
    return { ...rest, current: inUse, profiles: { ...profiles, [name]: after } };
  });
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

async function readCredentials(profile: Profile, flags: FlagValues, context: Context): Promise<Profile> {
  const [password, token] = [await givenSecret('password', flags, context), await givenSecret('token', flags, context)];
  const username = textOf(flags, 'username');
  const isAsked = password === undefined && token === undefined && username === undefined;
  if (isAsked) return askedCredentials(profile, context);
  return {
    ...(username === undefined && password === undefined ? {} : await basic(profile, username, password, context)),
    ...(token === undefined ? {} : bearer(profile, token)),
  };
}

async function askedCredentials(profile: Profile, context: Context): Promise<Profile> {
  const { runtime } = context;
  const hint = 'give --token-stdin, --token-file, or --username with --password-stdin or --password-file';
  if (!runtime.stdin.isTTY)
    throw new Failure('credentials', 'there is no terminal to ask on for credentials', { hint, applied: 'no' });
  const username = await ask(runtime, 'User for feedback and calls (empty for none): ', '--username');
  const forTrace = username === '' ? {} : await basic(profile, username, undefined, context);
  const token = await askSecret(runtime, 'Token for chat and training (empty for none): ', hint);
  const forChat = token === '' ? {} : bearer(profile, token);
  if (username === '' && token === '') throw new Failure('credentials', 'there is nothing to store', { applied: 'no' });
  return { ...forTrace, ...forChat };
}

async function basic(
  profile: Profile,
  user: string | undefined,
  given: string | undefined,
  { runtime }: Context,
): Promise<Profile> {
  const username = user ?? profile.username;
  if (!username) throw usage('a password belongs to a user', 'give --username');
  const password =
    given ?? (await askSecret(runtime, `Password of ${username}: `, 'give --password-stdin or --password-file'));
  if (password === '') throw new Failure('credentials', 'the password is empty', { applied: 'no' });
  basicAuthorization(username, password);
  return { username, password, basic_origins: originsOf(profile, ['trace']) };
}

function bearer(profile: Profile, token: string): Profile {
  bearerAuthorization(token, 'the input');
  return { token, bearer_origins: originsOf(profile, ['chat', 'train']) };
}

async function givenSecret(
  what: 'password' | 'token',
  flags: FlagValues,
  { runtime, signal, report }: Context,
): Promise<string | undefined> {
  const file = textOf(flags, `${what}-file`);
  const fromStdin = isOn(flags, `${what}-stdin`) === true;
  if (fromStdin && (file !== undefined || (isOn(flags, 'password-stdin') && isOn(flags, 'token-stdin')))) {
    throw usage('two secrets want the same place', 'give one of them by stdin and the other by file');
  }
  if (!fromStdin && file === undefined) return undefined;
  const path = file ?? '-';
  const bytes = await inputsOf(runtime, signal, report.note).read(path);
  return withoutFinalNewline(readText(path === '-' ? 'stdin' : path, bytes));
}
