import { Buffer, isUtf8 } from 'node:buffer';
import type { Context } from '../../context.ts';
import { Failure } from '../../errors.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import { describeFileError, errorCode } from '../../files/file-errors.ts';
import { shellWord } from '../../output/shell-quote.ts';
import type { Runtime } from '../../runtime.ts';
import { configDirectory, secretVariables } from '../environment.ts';
import type { Profile } from '../profile-store.ts';

export type SecretContext = Pick<Context, 'runtime' | 'signal'>;

const COMMAND_TIMEOUT_MS = 10_000;

/** Runs without a shell and without svc's own secrets. Throws `credentials`, which never shows the output, also after 10 s or `limitMs`. */
export async function readCommandSecret(
  command: readonly string[],
  scheme: 'basic' | 'bearer',
  context: SecretContext,
  limitMs = COMMAND_TIMEOUT_MS,
): Promise<string> {
  const { runtime } = context;
  const env = { ...withoutSecrets(runtime), SVC_CREDENTIAL: scheme };
  const timeoutMs = Math.min(COMMAND_TIMEOUT_MS, limitMs);
  const output = await runProgram({ command, env, cwd: configDirectory(runtime), timeoutMs }, context);
  const why = 'why' in output ? output.why : isUtf8(output.bytes) ? undefined : 'printed bytes that are not UTF-8';
  const secret = 'bytes' in output ? output.bytes.toString().replace(/\r?\n$/, '') : '';
  if (why === undefined && secret !== '') return secret;
  throw new Failure('credentials', `the credential_command ${command[0]} ${why ?? 'printed nothing'}`, {
    hint: why?.startsWith('was not found')
      ? 'correct the path of the program, or add its directory to PATH'
      : `to see why, run: SVC_CREDENTIAL=${scheme} ${shellWord(command[0] ?? '')}${command.length > 1 ? ' ...' : ''}`,
  });
}

function withoutSecrets(runtime: Runtime): Runtime['env'] {
  const secret = secretVariables(runtime);
  return Object.fromEntries(Object.entries(runtime.env).filter(([name]) => !secret.includes(name)));
}

const KEYCHAIN_TIMEOUT_MS = 3_000;

/** The credentials with names of keychain entries in the place of secrets; as they were, with a warning, if it takes none within 3 s. */
export async function storeInKeychain(credentials: Profile, name: string, context: Context): Promise<Profile> {
  const { password, token, ...others } = credentials;
  let why: string | undefined;
  const storeSecret = async (kind: 'password' | 'token', secret: string | undefined): Promise<Profile> => {
    if (secret === undefined) return {};
    // A new name each time: an entry in use must not be overwritten before the profile records its origins.
    const account = `${name} ${kind} ${Buffer.from(context.runtime.randomBytes(8)).toString('hex')}`;
    const output = why === undefined ? await runKeychain({ action: 'set', account, secret }, context) : { why };
    if ('why' in output) why = output.why;
    return 'why' in output ? { [kind]: secret } : { [`${kind}_key`]: account };
  };
  const stored = { ...(await storeSecret('password', password)), ...(await storeSecret('token', token)) };
  if (why !== undefined)
    await context.report.warn(`the secret is stored in the profile file (mode 0600), not in the keychain: ${why}`);
  return { ...others, ...stored };
}

/** The secret of an entry of the keychain. Throws Failure `credentials` if it is not there, or not within 3 s. */
export async function readKeychainSecret(account: string, context: SecretContext): Promise<string> {
  const output = await runKeychain({ action: 'get', account }, context);
  if ('bytes' in output) return output.bytes.toString();
  const facts = { hint: 'unlock it, or log in again with svc auth login', applied: 'no' } as const;
  throw new Failure('credentials', `could not read "${account}" from the keychain: ${output.why}`, facts);
}

/** Removes from the keychain what a profile kept there and another one does not; a failure is a warning. */
export async function removeFromKeychain(before: Profile, after: Profile, context: Context): Promise<void> {
  const usedAccounts = [after.password_key, after.token_key];
  for (const account of [before.password_key, before.token_key]) {
    if (account === undefined || usedAccounts.includes(account)) continue;
    const output = await runKeychain({ action: 'remove', account }, context);
    if ('why' in output)
      await context.report.warn(`could not remove "${account}" of "svc-cli" from the keychain: ${output.why}`);
  }
}

interface KeychainRequest {
  readonly action: 'set' | 'get' | 'remove';
  readonly account: string;
  readonly secret?: string;
}

async function runKeychain(request: KeychainRequest, context: SecretContext): Promise<ProgramOutput> {
  const { keychain: command, cwd } = context.runtime;
  const input = JSON.stringify(request);
  const program = { command, env: withoutSecrets(context.runtime), cwd, input, timeoutMs: KEYCHAIN_TIMEOUT_MS };
  const output = await runProgram(program, context);
  return 'why' in output ? { why: exitCodeReasons[output.why] ?? `it ${output.why}` } : output;
}

// The meanings of the exit codes of bin/keychain.js.
const exitCodeReasons: { readonly [why: string]: string } = {
  'ended with exit code 1': 'there is no keychain, or it is locked',
  'ended with exit code 3': 'there is no such entry',
  'ended with exit code 4':
    'the package @napi-rs/keyring is not installed; install it with npm install -g svc-cli --include=optional',
};

interface ProgramOptions extends Pick<Runtime, 'env' | 'cwd'> {
  readonly command: readonly string[];
  readonly input?: string;
  readonly timeoutMs: number;
}

type ProgramOutput = { readonly bytes: Buffer } | { readonly why: string };

const MAX_OUTPUT_BYTES = 64 * 1024;

// Returns stdout, up to 64 KiB; stderr is dropped, because it may hold secrets. Returns within the time limit even when a
// background process keeps stdout open.
async function runProgram(options: ProgramOptions, { runtime, signal }: SecretContext): Promise<ProgramOutput> {
  const { command, env, cwd, input = '', timeoutMs } = options;
  const { spawn } = await import('node:child_process');
  signal.throwIfAborted();
  const [program = '', ...args] = command;
  const child = spawn(program, args, { env, cwd, stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true });
  let release = (): void => {};
  const output = new Promise<ProgramOutput>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const cancelTimeout = runtime.after(timeoutMs, () => {
      const background = 'ended, but a background process kept its stdout open for longer than';
      resolve({ why: `${child.exitCode === null ? 'took longer than' : background} ${timeoutMs / 1000} s` });
    });
    release = () => {
      cancelTimeout();
      signal.removeEventListener('abort', onAbort);
    };
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_OUTPUT_BYTES) resolve({ why: `printed more than ${formatByteSize(MAX_OUTPUT_BYTES)}` });
    });
    child.once('error', (error) => {
      const isMissing = errorCode(error) === 'ENOENT';
      resolve({ why: isMissing ? 'was not found' : `could not be started: ${describeFileError(error)}` });
    });
    child.once('close', (code, signalName) => {
      if (code === 0) resolve({ bytes: Buffer.concat(chunks) });
      else resolve({ why: signalName ? `was ended by ${signalName}` : `ended with exit code ${code}` });
    });
  });
  // A program may end without having read.
  child.stdin.on('error', () => {}).end(input);
  return output.finally(() => {
    release();
    child.kill('SIGKILL');
    // A background process can keep the other ends of the pipes open.
    child.stdout.destroy();
    child.stdin.destroy();
    child.unref();
  });
}
