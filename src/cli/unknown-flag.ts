import { type Argument, type Command, usageTerm } from '../command.ts';
import { type Setting, settingFlagName, settings } from '../config/settings.ts';
import { type Failure, invalidValueFailure, usageFailure } from '../errors.ts';
import { closestMatches, joinWithOr } from '../fields/closest-match.ts';
import { type Fields, flagName } from '../fields/field.ts';
import { type Flag, flagForms, takesValue } from '../flag.ts';
import { flagTarget } from '../operations/operation.ts';
import { allCommands } from './all-commands.ts';
import { otherToolsHint, toolOf } from './other-tools.ts';

/** What an unknown flag may have been: a default, a word of another tool, an argument, a setting, a misspelling, or a flag of another command. */
export function unknownFlagHint(form: string, command: Command): string {
  const { name, flags, operation } = command;
  const shown = flags.filter(({ isHidden }) => !isHidden);
  const off = `--no-${form.slice(2)}`;
  const owners =
    form === '--all' ? [] : allCommands.filter((one) => one.listedFlags.some((flag) => isNamed(flag, form)));
  if (shown.flatMap(flagForms).includes(off) && owners.length === 0 && !otherToolsHint(`${name} ${form}`))
    return `leave it out: it is the default, which ${off} turns off`;
  const fields = operation ? flagTarget(operation).fields : {};
  const nested = nestedPath(fields, form);
  const short = /^-[^-]./.test(form) ? form.slice(0, 2) : form;
  const long = /^-[a-z]{3}/i.test(form) ? `-${form.toLowerCase()}` : form;
  const dashed = ownSpelling(long);
  return (
    (dashed !== form && shown.some((flag) => isNamed(flag, dashed)) ? synonymHint(dashed, flags) : undefined) ??
    knownFlag(long, command) ??
    argumentHint(form, command) ??
    formatHint(form, command) ??
    settingHint(form, fields) ??
    negationHint(form, command) ??
    (nested && `did you mean --set ${nested}:=<json>?`) ??
    misspelledFlag(form, long, shown, owners) ??
    knownFlag(short, command) ??
    withoutCounterpart(form, short) ??
    ownersHint(form, command, owners)
  );
}

/** A flag in the letters of svc: `--top-p` for `--top_p` and `--topP`. */
export function ownSpelling(form: string): string {
  return form.startsWith('--') ? flagName(form.replace(/(?<=[a-z])(?=[A-Z])/g, '-')).toLowerCase() : form;
}

// A flag of another tool, as this command, its group, or any command would mean it.
function knownFlag(form: string, { name, words, flags }: Command): string | undefined {
  return [`${name} ${form}`, `${words[0]} ${form}`, form].flatMap((word) => {
    const known = otherToolsHint(word);
    return (known && synonymHint(known, flags)) ?? [];
  })[0];
}

// `--shell bash`, `--profile work`, `--files a b`: what the command takes as its argument.
function argumentHint(flag: string, { name, argument }: Command): string | undefined {
  const names = [argument?.name, argument?.completes].flatMap((one) => (one ? [one, one.replace(/s$/, '')] : []));
  if (!argument || !names.includes(flag.slice(2))) return undefined;
  const known = otherToolsHint(name);
  const form = argumentForm(argument).replace(/^\[(\w+)\]$/, '<$1>');
  return `write it as an argument: ${known?.startsWith(`svc ${name} `) ? known : `svc ${name} ${form}`}`;
}

function settingHint(form: string, fields: Fields): string | undefined {
  const stored = settings.find((one: Setting) => one.isStored && one.flag && form === `--${settingFlagName(one)}`);
  if (!stored || ('isProject' in stored && !Object.hasOwn(fields, stored.name))) return undefined;
  return `${'variable' in stored ? `set ${stored.variable}, or ` : ''}run: svc profile set <name> ${form} ...`;
}

// A flag with other letters, with more or fewer words (`--op`, `--timeout-ms`), or a short one in the other case.
function misspelledFlag(
  form: string,
  long: string,
  flags: readonly Flag[],
  [owner]: readonly Command[],
): string | undefined {
  const forms = flags.flatMap(flagForms);
  if (/^-[a-z]$/i.test(form)) {
    const other = flags.find(({ short }) => short !== undefined && `-${short}`.toLowerCase() === form.toLowerCase());
    return other && !otherToolsHint(form) && !toolOf(form)
      ? `did you mean -${other.short}, --${other.name}?`
      : undefined;
  }
  const steps = long.split('-').filter((step) => step !== '');
  const partial = forms.filter(
    (one) =>
      one.startsWith(`${long}-`) ||
      long.startsWith(`${one}-`) ||
      (steps.length > 1 && one.endsWith(`-${steps.join('-')}`)),
  );
  const near = long.startsWith('--') ? [...closestMatches(long, forms), ...partial].slice(0, 2) : [];
  const elsewhere = owner ? `${form} is a flag of svc ${owner.name}; ` : '';
  return near.length > 0 ? `${elsewhere}did you mean ${joinWithOr([...new Set(near)])}?` : undefined;
}

function withoutCounterpart(form: string, short: string): string | undefined {
  const word = [form, short].find(toolOf);
  return word && `leave it out: svc has nothing like this flag of ${toolOf(word)}`;
}

/** The failure of a value that is none of the choices: in other letters, a word of another tool, or a flag. */
export function rejectedChoice(
  command: Command,
  form: string,
  value: string,
  choices: readonly string[],
  bare = '',
): Failure {
  const hint = choiceHint(command, form, value, choices);
  if (hint === undefined) return invalidValueFailure(form, value, `${bare}${joinWithOr(choices)}`);
  return usageFailure(`${form} cannot be ${JSON.stringify(value)}`, hint);
}

function choiceHint(
  { name, flags }: Command,
  form: string,
  value: string,
  choices: readonly string[],
): string | undefined {
  const word = value.toLowerCase();
  const meant = [word, ...[`${name} ${form}=${word}`, `${form}=${word}`].flatMap((one) => otherToolsHint(one) ?? [])];
  const choice = meant.find((one) => choices.includes(one));
  if (choice) return `did you mean ${form} ${choice}?`;
  const command = meant.find((one) => one.startsWith('svc '));
  // --json is a format, too.
  const isFlag = word !== 'json' && flags.some((one) => one.name === word && form !== `--${word}`);
  return command ? synonymHint(command) : isFlag ? synonymHint(`--${word}`, flags) : undefined;
}

// `--csv`: a format, which is the value of a flag.
function formatHint(form: string, command: Command): string | undefined {
  const format = command.flags.find((flag) => flag.name === 'format');
  return format && choiceHint(command, '--format', form.replace(/^-+/, ''), format.choices ?? []);
}

// The commands that have the flag.
function ownersHint(form: string, { name }: Command, owners: readonly Command[]): string {
  const [first, second, ...more] = owners.map((one) => `svc ${one.name}`);
  if (!first) return `run: svc ${name} --help`;
  const named = second ? `${first}${more.length > 0 ? `, ${second} and others` : ` and ${second}`}` : first;
  return `${form} is a flag of ${named}; leave it out, or run: ${second ? `svc ${name}` : first} --help`;
}

// `--no-model`: what svc does unless a flag, a variable or a profile says otherwise.
function negationHint(form: string, { flags }: Command): string | undefined {
  if (!form.startsWith('--no-')) return undefined;
  const [near] = closestMatches(
    form,
    flags.flatMap(flagForms).filter((one) => one.startsWith('--no-')),
  );
  if (near) return `did you mean ${near}?`;
  const on = `--${form.slice('--no-'.length)}`;
  const known = otherToolsHint(on) ?? '';
  const flag = flags.find((one) => isNamed(one, on) || isNamed(one, known));
  const setting: Setting | undefined = settings.find(
    (one: Setting) => settingFlagName(one) === (flag?.name ?? on.slice(2)),
  );
  const { kind = '', variable, choices = [] } = setting ?? {};
  if (flag && /^(?:count|duration)$/.test(kind)) return `did you mean --${flag.name} 0?`;
  if (variable && choices.includes('off')) return `run: export ${variable}=off`;
  if (flag)
    return `leave it out: svc uses --${flag.name} only if it is given${variable ? `, or ${variable} is set` : ''}`;
  return `leave it out: there is no ${on} to turn off`;
}

export function isNamed(flag: Flag, form: string): boolean {
  return form === `-${flag.short}` || flagForms(flag).includes(form);
}

// The path of a field inside of another one: `--learning-rate` is experimental_config.learning_rate.
function nestedPath(fields: Fields, form: string): string | undefined {
  const inner = form.slice(2).replaceAll('-', '_');
  const outer = Object.entries(fields).find(
    ([, field]) => field.type === 'object' && field.fields && Object.hasOwn(field.fields, inner),
  );
  return outer && `${outer[0]}.${inner}`;
}

/** A command, a flag that the command has, or a sentence; undefined for a flag that it lacks. */
export function synonymHint(text: string, flags?: readonly Flag[]): string | undefined {
  if (/^svc --/.test(text) || allCommands.some(({ words: [first] }) => text.startsWith(`svc ${first}`)))
    return `did you mean: ${text}`;
  const [form = ''] = text.split(' ');
  if (!form.startsWith('-')) return text;
  if (!flags) return form === text ? `did you mean ${text}?` : text;
  const found = flags.find((one) => flagForms(one).includes(form));
  // A command without --base-url may have profiles.
  const flag = found ?? (text === '--base-url' ? flags.find(({ name }) => name === 'profile') : undefined);
  if (!flag || flag.isHidden) return undefined;
  return `did you mean ${text === form && takesValue(flag) ? `${found ? form : '--profile'} ${flag.value}` : text}?`;
}

/** An argument with its choices, as a person writes it. */
export function argumentForm(argument: Argument): string {
  return argument.choices ? `<${argument.choices.join('|')}>` : usageTerm(argument);
}
