import { resolve } from 'node:path';
import { createInputReader } from '../../body/input-reader.ts';
import { decodeUtf8Text, stripFinalNewline } from '../../body/json-source.ts';
import { basicAuthorization, bearerAuthorization } from '../../config/credentials/credential.ts';
import { promptLine, promptObstacle, promptSecret } from '../../config/credentials/prompt.ts';
import type { Profile } from '../../config/profile.ts';
import { profileOrigins } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { Failure, usageFailure } from '../../errors.ts';
import { readInputFile } from '../../files/read-input.ts';
import { type FlagValues, getStringFlag, isFlagOn } from '../../flag.ts';

const MAX_SECRET_BYTES = 64 * 1024;

/**
 * The credentials of a login, from stdin, files or hidden prompts, bound to the current origins of the profile. Throws
 * Failure if there are none, or if they cannot be sent.
 */
export async function readLoginCredentials(
  name: string,
  profile: Profile,
  flags: FlagValues,
  context: Context,
): Promise<Profile> {
  rejectSecondSource(flags);
  const [password, token] = [await readSecret('password', flags, context), await readSecret('token', flags, context)];
  const username = getStringFlag(flags, 'username');
  const isInteractive = password === undefined && token === undefined && username === undefined;
  if (!promptObstacle(context) && password === undefined && token === undefined) {
    const urls = profileOrigins(profile, ['trace', 'chat', 'train']).join(', ');
    await context.report.note(`logging in to ${urls} (profile "${name}")`);
  }
  if (isInteractive) return promptForCredentials(profile, context);
  return {
    ...(username === undefined && password === undefined
      ? {}
      : await basicCredentials(profile, username, password, context)),
    ...(token === undefined ? {} : bearerCredentials(profile, token)),
  };
}

async function promptForCredentials(profile: Profile, context: Context): Promise<Profile> {
  const hint = 'pass --token-stdin, --token-file, or --username with --password-stdin or --password-file';
  const obstacle = promptObstacle(context);
  if (obstacle) throw new Failure('credentials', `cannot prompt for credentials ${obstacle}`, { hint, applied: 'no' });
  const username = await promptLine(context, 'User name for feedback and calls (empty for none): ', '--username');
  const forTrace = username === '' ? {} : await basicCredentials(profile, username, undefined, context);
  const token = await promptSecret(context, 'Token for chat and training (empty for none): ', hint);
  const forChat = token === '' ? {} : bearerCredentials(profile, token);
  if (username === '' && token === '')
    throw new Failure('credentials', 'no credentials were entered', { applied: 'no' });
  return { ...forTrace, ...forChat };
}

async function basicCredentials(
  profile: Profile,
  enteredUsername: string | undefined,
  enteredPassword: string | undefined,
  context: Context,
): Promise<Profile> {
  const username = enteredUsername ?? profile.username;
  if (!username) throw usageFailure('a password needs a user name', 'add --username');
  const password =
    enteredPassword ??
    (await promptSecret(context, `Password of ${username}: `, 'pass --password-stdin or --password-file'));
  basicAuthorization(username, password);
  // Basic authentication allows it; an unset CI secret looks the same.
  if (password === '') await context.report.warn('the password is empty');
  return { username, password, basic_origins: profileOrigins(profile, ['trace']) };
}

function bearerCredentials(profile: Profile, token: string): Profile {
  bearerAuthorization(token, 'the input');
  return { token, bearer_origins: profileOrigins(profile, ['chat', 'train']) };
}

function rejectSecondSource(flags: FlagValues): void {
  const kinds = ['password', 'token'] as const;
  for (const kind of kinds)
    if (isFlagOn(flags, `${kind}-stdin`) && flags.has(`${kind}-file`))
      throw usageFailure(`--${kind}-stdin cannot be combined with --${kind}-file`, 'remove one of them');
  const fromStdin = kinds.filter(
    (kind) => isFlagOn(flags, `${kind}-stdin`) || getStringFlag(flags, `${kind}-file`) === '-',
  );
  if (fromStdin.length > 1)
    throw usageFailure('only one secret can be read from stdin', 'pass the other with --password-file or --token-file');
}

async function readSecret(
  kind: 'password' | 'token',
  flags: FlagValues,
  context: Context,
): Promise<string | undefined> {
  const { runtime, signal } = context;
  const file = getStringFlag(flags, `${kind}-file`);
  if (file === undefined && !isFlagOn(flags, `${kind}-stdin`)) return undefined;
  const path = file ?? '-';
  const label = path === '-' ? 'stdin' : path;
  const bytes =
    path === '-'
      ? await createInputReader(context).read(path)
      : await readInputFile(resolve(runtime.cwd, path), path, { signal, maxBytes: MAX_SECRET_BYTES });
  return stripFinalNewline(decodeUtf8Text(label, bytes));
}
