import { type Argument, type Command, usageTerm } from '../command.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { closestMatches, joinWithOr } from '../fields/closest-match.ts';
import { type Flag, flagForms, takesValue } from '../flag.ts';
import { shellWord } from '../output/shell-quote.ts';
import { allCommands, commandsIn, sharedFlags } from './all-commands.ts';
import {
  completeSuggestion,
  correctedLineHint,
  isOperand,
  isUnknownFlag,
  readWordsAsFlags,
  SECRET_NAME,
  typedWords,
} from './corrected-line.ts';
import { otherToolsHint } from './other-tools.ts';
import { type LineToken, type PreparedCommandLine, prepareCommandLine, takesNextWord } from './prepare-command-line.ts';
import { isFileName, unknownCommand } from './unknown-command.ts';
import { argumentForm, isNamed, ownSpelling, rejectedChoice, synonymHint, unknownFlagHint } from './unknown-flag.ts';

/** The failure of a line that commander rejects with this code. Never repeats the value of an unknown flag: it may be a secret. */
export function explainMistake(code: string, line: PreparedCommandLine): Failure {
  const { command, tokens } = line;
  const last = tokens.at(-1) ?? {};
  if (code === 'commander.optionMissingArgument' && last.flag && takesNextWord(last))
    return missingValueFailure(last.form ?? '', last.flag);
  if (!command) return missingCommand(line);
  switch (code) {
    case 'commander.excessArguments':
      return tooManyArguments(command, line);
    case 'commander.missingArgument':
      return command.argument ? missingArgument(command.name, command.argument, line) : unknownFlag(command, tokens);
    case 'commander.invalidArgument':
      return invalidChoice(command, tokens);
    case 'commander.conflictingOption':
      return conflictingFlags(tokens);
    default:
      return unknownFlag(command, tokens);
  }
}

// A line without a command, or with a flag before it that belongs after it.
function missingCommand(line: PreparedCommandLine): Failure {
  const { typed, words, tokens } = line;
  const unknown = tokens.find(({ form, flag }) => form !== undefined && !flag);
  const misplaced = unknown && misplacedFlag(typed, unknown);
  if (misplaced) return misplaced;
  if (unknown && words.length === 0) {
    const { form = '' } = unknown;
    if (/^--(help|version)$/.test(form)) return usageFailure(`${form} takes no value`, `write: svc ${form}`);
    const own = ownSpelling(form);
    const owner = allCommands.find((one) => one.listedFlags.some((flag) => isNamed(flag, own)));
    const ofChat = owner ? undefined : otherToolsHint(`chat ${form}`);
    const meant = commandsIn(['chat'])[0]?.flags.find((flag) => flagForms(flag).includes(ofChat ?? ''));
    const value = meant && takesValue(meant) ? ` ${meant.value}` : '';
    const known = meant ? `svc chat ${ofChat}${value}` : (ofChat ?? otherToolsHint(form));
    const [near] = closestMatches(form, sharedFlags().flatMap(flagForms));
    const hint =
      (known && synonymHint(known)) ||
      (near && `did you mean ${near}?`) ||
      (owner ? `write it after the command: svc ${owner.name} ${own} ...` : 'run: svc --help');
    return usageFailure(`unknown flag "${form}"`, hint);
  }
  // The version, as other tools print it.
  if (words.length === 0 && tokens.every(({ form }) => form === '--verbose'))
    return usageFailure(
      'svc needs a command',
      'for the version, run: svc --version; for the commands, run: svc --help',
    );
  const commands = new Set(commandsIn(words).flatMap(({ words: path }) => path[words.length] ?? []));
  if (commands.size === 0) return unknownCommand(line, words);
  const name = ['svc', ...words].join(' ');
  return usageFailure(`${name} needs a command: ${joinWithOr([...commands])}`, `run: ${name} --help`);
}

/** The failure of a line whose first operand is the command of another program, or the value of the flag before it. */
export function missingSeparator(line: PreparedCommandLine, operands: readonly string[]): Failure {
  const { words, tokens } = line;
  const flags = tokens.filter(({ form }) => form !== undefined);
  const { flag, form, value } = flags.at(-1) ?? {};
  if (flag?.takes === 'optional' && value === undefined && operands.includes('--')) {
    const typed = flags.slice(0, -1).flatMap((token) => typedWords(token, token.value));
    const fixed = prepareCommandLine([...words, ...typed, `${form}=${operands[0]}`, ...operands.slice(1)]);
    return usageFailure(`${form} takes a value only after =`, correctedLineHint(fixed));
  }
  return usageFailure(
    `svc ${words.join(' ')} takes its command only after --`,
    correctedLineHint({ ...line, tokens: flags, literal: operands }),
  );
}

function misplacedFlag(typed: readonly string[], { start = '' }: LineToken): Failure | undefined {
  for (const candidate of allCommands.filter(({ flags }) => flags.some((flag) => isNamed(flag, start)))) {
    const line = prepareCommandLine(typed, [...candidate.flags, ...sharedFlags()]);
    if (line.command !== candidate) continue;
    return usageFailure(`${start} is a flag of svc ${candidate.name} and belongs after it`, correctedLineHint(line));
  }
  return undefined;
}

function unknownFlag(command: Command, tokens: readonly LineToken[]): Failure {
  const { name, flags } = command;
  const isUnused = ({ flag, form, value }: LineToken): boolean =>
    flag !== undefined &&
    value !== undefined &&
    !(form === `--${flag.name}` && (takesValue(flag) || flag.takes === 'optional'));
  const mistake = tokens.find((token) => isUnknownFlag(token, flags) || isUnused(token));
  const form = mistake?.form ?? tokens.find(({ value }) => value?.startsWith('-'))?.value ?? '';
  if ((mistake && isUnused(mistake)) || form === '--help')
    return usageFailure(`${form} takes no value`, `write ${form}`);
  // What is joined to a short flag may be a secret, as in `-uname:password`.
  const shown = /^-\w(?=.*\W)/s.exec(form)?.[0] ?? form;
  return usageFailure(
    `unknown flag "${form.startsWith('--') ? form : shown}" for svc ${name}`,
    unknownFlagHint(form, command),
  );
}

/** The failure of a flag without the value that it needs, with its form. */
function missingValueFailure(form: string, { value, choices }: Flag): Failure {
  const listed = choices && value !== `<${choices.join('|')}>` ? ` (${joinWithOr(choices)})` : '';
  return usageFailure(`${form} needs a value`, `write: ${form} ${value}${listed}`);
}

function invalidChoice(command: Command, tokens: readonly LineToken[]): Failure {
  const isInvalid = ({ value, flag }: LineToken): boolean =>
    value !== undefined && flag?.choices !== undefined && !flag.choices.includes(value);
  const { form = '', flag, value = '' } = tokens.find(isInvalid) ?? {};
  const bare = flag?.takes === 'optional' ? `${form} or ${form}=` : '';
  return rejectedChoice(command, form, value, flag?.choices ?? [], bare);
}

function missingArgument(name: string, argument: Argument, line: PreparedCommandLine): Failure {
  const own = `svc ${name}`;
  const known = line.tokens.length === 0 ? otherToolsHint(name) : undefined;
  const form = correctedLineHint(line).replace(own, `${own} ${argumentForm(argument)}`);
  return usageFailure(`${own} needs ${usageTerm(argument)}`, known?.startsWith(`${own} `) ? `write: ${known}` : form);
}

function conflictingFlags(tokens: readonly LineToken[]): Failure {
  const forms = tokens.map(({ form }) => form);
  const [found] = tokens.flatMap(({ flag, form }) => {
    const other = flag?.conflicts?.find((one) => forms.includes(`--${one}`));
    return form && other ? { form, other, hint: flag?.instead?.[other] } : [];
  });
  return usageFailure(`${found?.form} cannot be combined with --${found?.other}`, found?.hint ?? 'remove one of them');
}

// The only commands that take several arguments take any number. What an extra word may have been is seen from its shape.
function tooManyArguments(command: Command, line: PreparedCommandLine): Failure {
  const { name, argument } = command;
  const kept = line.tokens.find((token) => argument && isOperand(token));
  const extra = line.tokens.find((token) => isOperand(token) && token !== kept);
  const word = extra?.value ?? line.literal?.[argument ? 1 : 0] ?? '';
  // For a login, it may be a secret.
  const shown = name.startsWith('auth ') ? 'an argument' : `the argument ${JSON.stringify(word)}`;
  const before = extra && line.tokens[line.tokens.indexOf(extra) - 1];
  if (before?.flag?.name === 'set' && before.value && !before.value.includes('='))
    return usageFailure(`--set ${before.value} has no =`, `write --set ${shellWord(`${before.value}:=${word}`)}`);
  if (word === 'help') return usageFailure(`svc ${name} does not take ${shown}`, `run: svc ${name} --help`);
  if (name === 'profile set' && SECRET_NAME.test(word))
    return usageFailure(
      `svc profile set stores no ${word}`,
      `run: svc auth login --profile ${shellWord(kept?.value ?? '<name>')} ${word === 'password' ? '--username <name> --password-stdin' : '--token-stdin'}`,
    );
  const known = otherToolsHint(`${name} ${word}`);
  if (known) {
    const rest = line.typed.slice(line.typed.lastIndexOf(word) + 1);
    return usageFailure(`svc ${name} does not take ${shown}`, synonymHint(completeSuggestion(known, rest)));
  }
  const isFlag = command.flags.some((one) => one.name === word);
  if (extra && !isFlag && commandsIn(command.words).length > 1 && /^[a-z][a-z-]*$/.test(word))
    return unknownCommand(line, [...command.words, word]);
  const tokens = readWordsAsFlags(command, line.tokens, kept);
  if (kept && argument?.isFile && isFileName(word))
    return usageFailure(
      `svc ${name} takes one file`,
      correctedLineHint({ ...line, tokens: line.tokens.filter((token) => token !== kept) }, 'run it for each file'),
    );
  const literal = argument && !kept ? line.literal?.slice(0, 1) : undefined;
  const { literal: _, ...rest } = line;
  return usageFailure(
    `svc ${name} does not take ${shown}`,
    name === 'auth login'
      ? `write ${/^https?:\/\//i.test(word) ? '--base-url <url>, ' : /^[a-z]{1,12}$/.test(word) ? '--profile <name>, ' : ''}--token-stdin, or --username <name> --password-stdin`
      : name.startsWith('auth ')
        ? `write: svc ${name} --profile <name>`
        : correctedLineHint({ ...rest, tokens, ...(literal && { literal }) }),
  );
}
