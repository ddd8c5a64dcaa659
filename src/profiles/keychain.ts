import { Buffer } from 'node:buffer';
import { Failure } from '../errors.ts';
import type { Runtime } from '../runtime.ts';
import type { Output } from './capture.ts';
import type { Profile } from './profile.ts';

const LIMIT = 3_000;

type Action =
  | { readonly action: 'set'; readonly account: string; readonly secret: string }
  | { readonly action: 'get' | 'remove'; readonly account: string };

/**
 * The credentials with the name of an entry of the operating system's keychain in the place of each secret; where the
 * keychain does not take one within 3 s, with the secret as it was, and in words why.
 */
export async function keptInKeychain(
  { password, token, ...others }: Profile,
  name: string,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<{ readonly credentials: Profile; readonly why: string | undefined }> {
  let why: string | undefined;
  const keep = async (kind: 'password' | 'token', secret: string | undefined): Promise<Profile> => {
    if (secret === undefined) return {};
    // A new name each time: what is in use is never written over before the profile says where it may be sent.
    const account = `${name} ${kind} ${Buffer.from(runtime.randomBytes(8)).toString('hex')}`;
    const output = why === undefined ? await ask({ action: 'set', account, secret }, runtime, signal) : { why };
    if ('why' in output) why = output.why;
    return 'why' in output ? { [kind]: secret } : { [`${kind}_key`]: account };
  };
  const credentials = { ...others, ...(await keep('password', password)), ...(await keep('token', token)) };
  return { credentials, why };
}

/** The secret of an entry of the keychain. Throws Failure `credentials` where it is not there, or not within 3 s. */
export async function keychainSecret(account: string, runtime: Runtime, signal: AbortSignal): Promise<string> {
  const output = await ask({ action: 'get', account }, runtime, signal);
  if ('bytes' in output) return output.bytes.toString();
  throw new Failure('credentials', `the keychain does not give "${account}": ${output.why}`, {
    hint: 'unlock it, or log in again with svc auth login',
    applied: 'no',
  });
}

/** Removes from the keychain what a profile kept there and another one does not; in words what could not be removed. */
export async function forgetInKeychain(
  before: Profile,
  after: Profile,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<string[]> {
  const kept = [after.password_key, after.token_key];
  const warnings: string[] = [];
  for (const account of [before.password_key, before.token_key]) {
    if (account === undefined || kept.includes(account)) continue;
    const output = await ask({ action: 'remove', account }, runtime, signal);
    if ('why' in output) warnings.push(`the keychain still has "${account}" of "svc-cli": ${output.why}`);
  }
  return warnings;
}

async function ask(action: Action, { keychain, env, cwd, after }: Runtime, signal: AbortSignal): Promise<Output> {
  const { capture } = await import('./capture.ts');
  const output = await capture({
    words: keychain,
    env,
    cwd,
    input: JSON.stringify(action),
    limit: LIMIT,
    after,
    signal,
  });
  return 'why' in output ? { why: explanations[output.why] ?? `it ${output.why}` } : output;
}

// What the exit codes of bin/keychain.js mean.
const explanations: { readonly [why: string]: string } = {
  'ended with exit code 1': 'there is no keychain, or it is locked',
  'ended with exit code 3': 'there is no such entry',
};
