import { inputsOf } from '../body/inputs.ts';
import { readText, withoutFinalNewline } from '../body/source.ts';
import type { Context } from '../cli/context.ts';
import { Failure, usage } from '../errors.ts';
import { type FlagValues, isOn, textOf } from '../fields/flag.ts';
import { basicAuthorization, bearerAuthorization } from '../profiles/credential.ts';
import type { Profile } from '../profiles/profile.ts';
import { ask, askSecret } from '../profiles/prompt.ts';
import { originsOf } from '../profiles/resolve.ts';

/**
 * The credentials of a login, from stdin, files or hidden prompts, and the origins they belong to: those of the profile
 * now. Throws Failure where there are none, or none that can be sent.
 */
export async function readCredentials(profile: Profile, flags: FlagValues, context: Context): Promise<Profile> {
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
