import type { Command } from '../command.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { flagTarget } from '../operations/operation.ts';
import { shellQuote, shellWord } from '../output/shell-quote.ts';
import { typedWords } from './corrected-line.ts';
import { isToolName, otherToolsHint } from './other-tools.ts';
import type { LineToken, PreparedCommandLine } from './prepare-command-line.ts';

// A longer body hides the command.
const MAX_SHOWN_CHARS = 400;

/** A body on the command line, as curl and HTTPie take it; `at` is the token, and `count` how many stand for it. */
interface TypedBody {
  readonly text: string;
  readonly problem: string;
  readonly at: number;
  readonly count: number;
}

/** The failure of a line with a body as an argument: `-d '{...}'`, `--json '{...}'`, `-d @file`; the hint sends that body. */
export function typedBodyFailure({ typed, command, tokens, words }: PreparedCommandLine): Failure | undefined {
  if (!command?.operation || command.argument?.usage) return undefined;
  const found = tokens.flatMap((_, at) => typedBody(command, typed, tokens, at) ?? [])[0];
  if (!found) return undefined;
  const { text, problem, at, count } = found;
  const file = /^@(.+)$/s.exec(text)?.[1];
  const others = tokens.flatMap((token, index) => {
    const isLeftOut = index >= at && index < at + count;
    // Neither what svc does not know nor what may be its value, nor a header, which may be a secret.
    const isUnknown = token.form !== undefined ? !token.flag : index > 0 && isUnknownFlag(tokens[index - 1]);
    // `svc chat curl https://...`.
    const isOfTool =
      token.form === undefined && (isToolName(token.value ?? '') || /^https?:\/\//i.test(token.value ?? ''));
    return isLeftOut || isUnknown || isOfTool || ['header', 'file'].includes(token.flag?.name ?? '')
      ? []
      : typedWords(token, token.value);
  });
  const line = ['svc', ...words, ...others, ...(tokens[at]?.flag?.name === 'json' ? ['--json'] : []), '-f', file ?? '-']
    .map(shellWord)
    .join(' ');
  const fields = Object.entries({ ...command.operation.body, ...flagTarget(command.operation).fields });
  const hasSecret = fields.some(([name, { isSecret }]) => isSecret && text.includes(name));
  const isShown = text.length <= MAX_SHOWN_CHARS && !hasSecret;
  const pipe = file === undefined ? `printf %s ${isShown ? shellQuote(text) : "'<json>'"} | ` : '';
  const isPrompt = command.operation.arguments?.as === 'prompt' && count === 1 && tokens[at]?.form === undefined;
  const asText = isPrompt && isShown ? `; to send it as text: svc chat -- ${shellWord(text)}` : '';
  return usageFailure(problem, `write: ${pipe}${line}${asText}`);
}

function typedBody(
  command: Command,
  typed: readonly string[],
  tokens: readonly LineToken[],
  at: number,
): TypedBody | undefined {
  const { form, flag, value = '' } = tokens[at] ?? {};
  const next = tokens[at + 1];
  const following = next?.form === undefined ? (next?.value ?? '') : '';
  if (form === undefined) {
    const isBody =
      command.operation?.arguments?.as === 'prompt' ? /^\{.*"messages".*\}$/s.test(value) : isBodyOf(command, value);
    return isBody && !isUnknownFlag(tokens[at - 1])
      ? { text: value, problem: 'an argument is a JSON body', at, count: 1 }
      : undefined;
  }
  if (flag?.name === 'file' && /^\s*\{/.test(value))
    return { text: value, problem: `${form} takes the name of a file, not a JSON body`, at, count: 1 };
  const body = [value, following].find((text) => /^\{.*\}$/s.test(text));
  if (flag?.name === 'json' && body !== undefined) {
    const problem = '--json takes no value, but a JSON body follows it';
    return { text: body, problem, at: body === value ? at : at + 1, count: 1 };
  }
  if (flag) return undefined;
  // `-d{...}` and `--data={...}`.
  const [, short, joined = ''] = /^(-\w)(.+)$/s.exec(form) ?? [];
  const name = short && otherToolsHint(short) === '--file' ? short : form;
  const own = name === short ? joined : typed.find((word) => word.startsWith(`${form}=`))?.slice(form.length + 1);
  const text = own ?? following;
  const isData = otherToolsHint(`${command.name} ${name}`) === undefined && otherToolsHint(name) === '--file';
  if (!isBodyOf(command, text) && !(isData && /^@.|^\{.*\}$/s.test(text))) return undefined;
  return { text, problem: `unknown flag "${name}" for svc ${command.name}`, at, count: own === undefined ? 2 : 1 };
}

function isUnknownFlag(token: LineToken | undefined): boolean {
  return token?.form !== undefined && !token.flag;
}

// An object with a field of the body, valid or not.
function isBodyOf({ operation }: Command, text: string): boolean {
  if (!operation || !/^\s*\{.*\}\s*$/s.test(text)) return false;
  const names = Object.keys({ ...operation.body, ...flagTarget(operation).fields });
  return names.some((name) => new RegExp(`["'{,\\s]${name}["']?\\s*:`).test(text));
}
