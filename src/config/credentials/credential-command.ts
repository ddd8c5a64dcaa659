import { isUtf8 } from 'node:buffer';
import { resolve } from 'node:path';
import { Failure, usageFailure } from '../../errors.ts';
import type { Runtime } from '../../runtime.ts';
import { configDirectory } from '../directories.ts';
import type { AuthScheme } from './credential.ts';

const COMMAND_TIMEOUT_MS = 10_000;

/**
 * The words of a command that prints a secret: a JSON array of texts, or words with blanks between. A program that is
 * given by a relative path is meant from `cwd`. Throws usage for anything a shell would have to understand.
 */
export function parseCredentialCommand(text: string, flag: string, cwd: string): readonly string[] {
  const [program = '', ...args] = text.trimStart().startsWith('[')
    ? parseJsonCommand(text, flag)
    : splitPlainCommand(text, flag);
  if (program === '') throw usageFailure(`${flag} names no program`, 'write it like "/usr/bin/pass show svc"');
  return [/[/\\]/.test(program) ? resolve(cwd, program) : program, ...args];
}

/**
 * The secret a command prints, less one final line end. It runs without a shell, in the folder of the profiles, so that
 * nothing comes from the working folder, and finds in SVC_CREDENTIAL which kind is wanted. Throws Failure `credentials`,
 * which never shows what was printed, for a command that fails, takes over 10 s or prints nothing or over 64 KiB.
 */
export async function readCommandSecret(
  command: readonly string[],
  scheme: AuthScheme,
  runtime: Runtime,
  signal: AbortSignal,
): Promise<string> {
  const env = { ...runtime.env, SVC_CREDENTIAL: scheme };
  const cwd = configDirectory(runtime);
  const { runProgram } = await import('./run-program.ts');
  const output = await runProgram({ command, env, cwd, timeoutMs: COMMAND_TIMEOUT_MS, after: runtime.after, signal });
  const why = 'why' in output ? output.why : isUtf8(output.bytes) ? undefined : 'printed what is not UTF-8';
  const secret = 'bytes' in output ? output.bytes.toString().replace(/\r?\n$/, '') : '';
  if (why === undefined && secret !== '') return secret;
  throw new Failure('credentials', `the credential_command ${command[0]} ${why ?? 'printed nothing'}`, {
    hint: `try it by itself, with SVC_CREDENTIAL=${scheme}; svc does not show what it says`,
    applied: 'no',
  });
}

function parseJsonCommand(text: string, flag: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw usageFailure(
      `${flag} starts like a JSON array but is none`,
      `write it like '["/usr/bin/pass","show","svc"]'`,
    );
  }
  const words = Array.isArray(value) ? value.filter((word) => typeof word === 'string' && !word.includes('\0')) : [];
  if (Array.isArray(value) && words.length === value.length) return words;
  throw usageFailure(`${flag} must be an array of texts`, `write it like '["/usr/bin/pass","show","svc"]'`);
}

function splitPlainCommand(text: string, flag: string): string[] {
  const [special] = /["'`$|&;<>()*?~\\]/.exec(text) ?? [];
  if (special === undefined) return text.split(/\s+/).filter((word) => word !== '');
  throw usageFailure(
    `${flag} has a ${special}, and no shell reads it`,
    `write it like '["/usr/bin/pass","show","svc"]'`,
  );
}
