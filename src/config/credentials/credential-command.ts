import { isUtf8 } from 'node:buffer';
import { resolve } from 'node:path';
import { Failure, usageFailure } from '../../errors.ts';
import { shellWord } from '../../output/shell-quote.ts';
import type { Runtime } from '../../runtime.ts';
import { configDirectory } from '../directories.ts';
import { type Setting, settings } from '../settings.ts';
import type { AuthScheme } from './credential.ts';

const COMMAND_TIMEOUT_MS = 10_000;

/**
 * The words of a command that prints a secret: a JSON array of strings, or words separated by spaces. A relative path of
 * the program starts from `cwd`. Throws usage for anything that only a shell would understand.
 */
export function parseCredentialCommand(text: string, flag: string, cwd: string): readonly string[] {
  const [program = '', ...args] = text.trimStart().startsWith('[')
    ? parseJsonCommand(text, flag)
    : splitPlainCommand(text, flag);
  if (program === '') throw usageFailure(`${flag} does not name a program`, 'write it like "/usr/bin/pass show svc"');
  return [/[/\\]/.test(program) ? resolve(cwd, program) : program, ...args];
}

/**
 * The secret that a command prints, without one final line break. The command runs without a shell, in the directory of
 * the profiles, with SVC_CREDENTIAL set to the scheme and without svc's own secrets. Throws Failure `credentials`, which
 * never shows the output, for a command that fails, prints nothing or over 64 KiB, or takes longer than 10 s or `limitMs`.
 */
export async function readCommandSecret(
  command: readonly string[],
  scheme: AuthScheme,
  runtime: Runtime,
  signal: AbortSignal,
  limitMs = COMMAND_TIMEOUT_MS,
): Promise<string> {
  const env = { ...withoutSecrets(runtime.env), SVC_CREDENTIAL: scheme };
  const cwd = configDirectory(runtime);
  const { runProgram } = await import('./run-program.ts');
  const timeoutMs = Math.min(COMMAND_TIMEOUT_MS, limitMs);
  const output = await runProgram({ command, env, cwd, timeoutMs, after: runtime.after, signal });
  const why = 'why' in output ? output.why : isUtf8(output.bytes) ? undefined : 'printed bytes that are not UTF-8';
  const secret = 'bytes' in output ? output.bytes.toString().replace(/\r?\n$/, '') : '';
  if (why === undefined && secret !== '') return secret;
  throw new Failure('credentials', `the credential_command ${command[0]} ${why ?? 'printed nothing'}`, {
    hint: why?.startsWith('was not found')
      ? 'correct the path of the program, or add its directory to PATH'
      : `to see why, run: SVC_CREDENTIAL=${scheme} ${shellWord(command[0] ?? '')}${command.length > 1 ? ' ...' : ''}`,
    applied: 'no',
  });
}

/** An environment without the variables that hold secrets of svc, for programs that svc runs. */
export function withoutSecrets(env: Runtime['env']): Runtime['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !secretVariables.includes(name)));
}

const secretVariables: readonly string[] = settings.flatMap(({ kind, variable }: Setting) =>
  kind === 'secret' && variable ? [variable] : [],
);

function parseJsonCommand(text: string, flag: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw usageFailure(`${flag} is not valid JSON`, JSON_EXAMPLE_HINT);
  }
  const isWord = (word: unknown): word is string => typeof word === 'string' && !word.includes('\0');
  if (Array.isArray(value) && value.every(isWord)) return value;
  throw usageFailure(`${flag} must be an array of strings`, JSON_EXAMPLE_HINT);
}

function splitPlainCommand(text: string, flag: string): string[] {
  const [special] = /["'`$|&;<>()*?~\\]/.exec(text) ?? [];
  if (special === undefined) return text.split(/\s+/).filter((word) => word !== '');
  throw usageFailure(`${flag} contains ${special}, which needs a shell, and svc runs none`, JSON_EXAMPLE_HINT);
}

const JSON_EXAMPLE_HINT = `write it like '["/usr/bin/pass","show","svc"]'`;
