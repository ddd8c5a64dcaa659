import { Buffer } from 'node:buffer';
import { Failure } from '../../errors.ts';
import type { Runtime } from '../../runtime.ts';
import type { Profile } from '../profile.ts';
import { withoutSecrets } from './credential-command.ts';
import type { ProgramOutput } from './run-program.ts';

const KEYCHAIN_TIMEOUT_MS = 3_000;

/**
 * The credentials with the name of an entry of the operating system's keychain in the place of each secret; where the
 * keychain does not take one within 3 s, with the secret as it was, and in words why.
 */
export async function storeInKeychain(
  { password, token, ...others }: Profile,
  name: string,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<{ readonly credentials: Profile; readonly why: string | undefined }> {
  let why: string | undefined;
  const storeSecret = async (kind: 'password' | 'token', secret: string | undefined): Promise<Profile> => {
    if (secret === undefined) return {};
    // A new name each time: an entry in use must not be overwritten before the profile records its origins.
    const account = `${name} ${kind} ${Buffer.from(runtime.randomBytes(8)).toString('hex')}`;
    const output = why === undefined ? await runKeychain({ action: 'set', account, secret }, runtime, signal) : { why };
    if ('why' in output) why = output.why;
    return 'why' in output ? { [kind]: secret } : { [`${kind}_key`]: account };
  };
  const stored = { ...(await storeSecret('password', password)), ...(await storeSecret('token', token)) };
  return { credentials: { ...others, ...stored }, why };
}

/** The secret of an entry of the keychain. Throws Failure `credentials` if it is not there, or not within 3 s. */
export async function readKeychainSecret(account: string, runtime: Runtime, signal: AbortSignal): Promise<string> {
  const output = await runKeychain({ action: 'get', account }, runtime, signal);
  if ('bytes' in output) return output.bytes.toString();
  const facts = { hint: 'unlock it, or log in again with svc auth login', applied: 'no' } as const;
  throw new Failure('credentials', `could not read "${account}" from the keychain: ${output.why}`, facts);
}

/** Removes from the keychain what a profile kept there and another one does not; in words what could not be removed. */
export async function removeFromKeychain(
  before: Profile,
  after: Profile,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<string[]> {
  const usedAccounts = [after.password_key, after.token_key];
  const warnings: string[] = [];
  for (const account of [before.password_key, before.token_key]) {
    if (account === undefined || usedAccounts.includes(account)) continue;
    const output = await runKeychain({ action: 'remove', account }, runtime, signal);
    if ('why' in output) warnings.push(`could not remove "${account}" of "svc-cli" from the keychain: ${output.why}`);
  }
  return warnings;
}

async function runKeychain(
  request: { readonly action: 'set' | 'get' | 'remove'; readonly account: string; readonly secret?: string },
  { keychain, env, cwd, after }: Runtime,
  signal: AbortSignal,
): Promise<ProgramOutput> {
  const { runProgram } = await import('./run-program.ts');
  const program = { command: keychain, env: withoutSecrets(env), cwd, input: JSON.stringify(request) };
  const output = await runProgram({ ...program, timeoutMs: KEYCHAIN_TIMEOUT_MS, after, signal });
  return 'why' in output ? { why: exitCodeReasons[output.why] ?? `it ${output.why}` } : output;
}

// The meanings of the exit codes of bin/keychain.js.
const exitCodeReasons: { readonly [why: string]: string } = {
  'ended with exit code 1': 'there is no keychain, or it is locked',
  'ended with exit code 3': 'there is no such entry',
  'ended with exit code 4':
    'the package @napi-rs/keyring is not installed; install it with npm install -g svc-cli --include=optional',
};
