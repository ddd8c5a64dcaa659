import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { isBodyFile } from '../body/body-flags.ts';
import type { Command } from '../command.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { flagForms } from '../flag.ts';
import { shellWord } from '../output/shell-quote.ts';
import type { LineToken, PreparedCommandLine } from './prepare-command-line.ts';

// Editors and chat programs make these of `--` and `-`.
const TYPOGRAPHIC_DASHES = /^[\u2010-\u2015\u2212]+(?=[a-z])/i;

// As HTTPie takes them.
const HEADER = /^(?:authorization|content-type|accept|cookie|user-agent|api-key|x-[\w-]+):\S/i;

// A list of fields, or one of a response.
const FIELDS = /^(?:[a-zA-Z_][\w.]*(?:,[a-zA-Z_][\w.]*)+|id|object|created|model|choices|usage|text|content)$/;

/** Throws usage for a word that probably is no prompt, such as a flag with a typographic dash or `@file`. After `--` each is one. */
export function rejectUnintendedWord({ command, tokens, words }: PreparedCommandLine, cwd: string): void {
  const operands = tokens.filter(({ form }) => form === undefined).map(({ value = '' }) => value);
  const name = ['svc', ...words].join(' ');
  const fail = (word: string, why: string, hint: string): Failure => {
    const sent = isPrompt ? `; to send it as text: ${name} -- ${shellWord(word)}` : '';
    return usageFailure(`${JSON.stringify(word)} ${why}`, `${hint}${sent}`);
  };
  const isPrompt = command?.operation?.arguments?.as === 'prompt';
  const dashed = operands.find((word) => TYPOGRAPHIC_DASHES.test(word) && (!/\s/.test(word) || !isPrompt));
  if (dashed !== undefined) {
    const letters = dashed.replace(TYPOGRAPHIC_DASHES, '');
    const long = `--${letters.replace(/=.*$/s, '')}`;
    const isLong = command?.flags.some((flag) => flagForms(flag).includes(long)) || letters.length > 1;
    throw fail(dashed, 'begins with a typographic dash', `write ${isLong ? long : `-${letters}`}`);
  }
  if (!isPrompt || !command) return;
  const [first = ''] = operands;
  if (operands.length === 1 && first === 'help')
    throw fail(first, 'is the whole prompt', `for help, run: ${name} --help`);
  if (/^(?:chat )?completions?(?: create)?$|^create$/.test(operands.join(' ')))
    throw fail(operands.join(' '), 'is the whole prompt', `write the prompt instead: ${name} "<prompt>"`);
  const field = operands.find((word) => isField(word, command));
  if (field !== undefined)
    throw fail(field, 'seems to set a field', `write --set ${shellWord(field.replace(/^(\w+)=(?=[[{])/, '$1:='))}`);
  const header = operands.find((word) => HEADER.test(word))?.split(':')[0];
  if (header !== undefined)
    // Its value may be a secret.
    throw usageFailure(`${header}: seems to begin a header`, `write -H '${header}: <value>', or the prompt after --`);
  const isFile = (word: string): boolean => existsSync(resolve(cwd, word));
  const plain = operands.length === 1 && /\.\w{2,5}$/.test(first) && isFile(first) ? first : undefined;
  const named = operands.find((word) => /^@./.test(word) && isFile(word.slice(1))) ?? plain;
  if (named !== undefined) {
    const batch = tokens.find(({ flag }) => flag?.name === 'batch' || flag?.name === 'rows');
    if (batch)
      throw usageFailure(
        `${batch.form} takes one file, and ${JSON.stringify(named)} is another one`,
        'run it for each file, each with its own -o',
      );
    const flag = isBodyFile(named) ? '-f' : '--attach';
    throw fail(named, 'names a file', `write ${flag} ${shellWord(named.replace(/^@/, ''))}`);
  }
  rejectExpandedPattern(tokens, isFile);
  const filtered = valueAfter(tokens, /^--(?:json|quiet)$/, /^\.[\w[]\S*$/);
  if (filtered) throw fail(filtered, 'follows a flag that takes no value', `write --jq ${shellWord(filtered)}`);
  const value = valueAfter(tokens, /^--json$/, FIELDS);
  if (value === undefined) return;
  const filter = value.split(',').map((field) => `.${field}`);
  throw fail(
    value,
    'follows --json, which takes no value',
    `for these fields, write --jq ${shellWord(filter.join(', '))}`,
  );
}

// Throws for a pattern that the shell replaced with several files.
function rejectExpandedPattern(tokens: readonly LineToken[], isFile: (word: string) => boolean): void {
  const at = tokens.findIndex(
    ({ form, value = '' }, index) =>
      form === undefined &&
      /\.\w{2,5}$/.test(value) &&
      /^(?:rows|attach)$/.test(tokens[index - 1]?.flag?.name ?? '') &&
      isFile(value),
  );
  if (at === -1) return;
  const file = tokens[at]?.value ?? '';
  const isAttached = tokens[at - 1]?.flag?.name === 'attach';
  throw usageFailure(
    `${JSON.stringify(file)} names a file, and ${isAttached ? '--attach' : '--rows'} takes one`,
    isAttached ? `write --attach before each: --attach ${shellWord(file)}` : 'run the command for each file',
  );
}

// `model=gpt-4o`, `messages:=[]`; a text with spaces is a prompt.
function isField(word: string, { operation }: Command): boolean {
  const [, field] = /^(\w+)(?::=|=\S*$)/.exec(word) ?? [];
  return field !== undefined && operation !== undefined && Object.hasOwn(operation.body, field);
}

// A word of a form after a flag without a value, which looks like its value.
function valueAfter(tokens: readonly LineToken[], flag: RegExp, wanted: RegExp): string | undefined {
  const at = tokens.findIndex(({ form = '' }) => flag.test(form));
  const { form, value = '' } = (at !== -1 && tokens[at + 1]) || { form: '' };
  return form === undefined && wanted.test(value) ? value : undefined;
}

/** The failure of a chat without a prompt, with a hint if the last word, which looks like one, is the value of a flag. */
export function namePromptInFlag({ typed, tokens, words }: PreparedCommandLine, failure: Failure): Failure {
  const { flag, form, value, start = '' } = tokens.at(-1) ?? {};
  const isOperand = tokens.some((token) => token.form === undefined);
  if (!flag || flag.isSecret || flag.name === 'file' || value === undefined || typed.at(-1) !== value || isOperand)
    return failure;
  const hint = `${shellWord(value)} is the value of ${form}; write the prompt after it: svc ${words.join(' ')} ${start} ${shellWord(value)} "<prompt>"`;
  return failure.with({ hint });
}
