import { Buffer, isUtf8 } from 'node:buffer';
import { type Setting, settings } from '../config/settings.ts';
import { usageFailure } from '../errors.ts';
import { closestMatches } from '../fields/closest-match.ts';
import { flagName } from '../fields/field.ts';
import { type ResultFormats, resultKinds } from '../output/output-format.ts';
import { shellWord } from '../output/shell-quote.ts';
import type { Runtime } from '../runtime.ts';
import type { PreparedCommandLine } from './prepare-command-line.ts';

// The variables that svc sets for its children.
const GIVEN_VARIABLES = ['SVC_CALL_ID', 'SVC_TRACE_ID', 'SVC_CREDENTIAL'];

const MIN_LIKELY_MILLISECONDS = 500;
const SECONDS_PER_DAY = 86_400;

/** What a command line and its environment seem to mean, and svc does not do. */
export async function lineWarnings(line: PreparedCommandLine, { env, credentials = [] }: Runtime): Promise<string[]> {
  const { tokens, command } = line;
  const outputs = tokens.flatMap(({ flag, value }) => (flag?.name === 'output' && value !== undefined ? [value] : []));
  const [first, last] = [outputs[0], outputs.at(-1)];
  const warnings = first === last ? [] : [`--output was given twice: only ${last} is written, not ${first}`];
  if (last !== undefined && /^\$\w/.test(last))
    warnings.push(`--output ${last} is a file of this name; a shell replaces no variable in single quotes`);
  warnings.push(...otherFormat(line, last), ...commandPrompt(line), ...bareDurations(line, env));
  const counted = tokens.find(
    ({ start, flag }, at) => start === '-n' && flag && /^\d+$/.test(tokens[at + 1]?.value ?? ''),
  );
  if (counted && command?.flags.some(({ name }) => name === 'n'))
    warnings.push('-n is --dry-run, and the number after it is part of the prompt; for choices, write --n <n>');
  // The output of `call run` is that of another program.
  if (command?.argument?.usage) return warnings;
  const variables = settings.flatMap(({ variable }: Setting) => variable ?? []);
  const known = [...variables, ...GIVEN_VARIABLES, ...credentials.map(({ secret }) => secret)];
  const unread = Object.keys(env).filter((name) => name.startsWith('SVC_') && !known.includes(name));
  if (unread.length === 0) return warnings;
  // Most starts do not need the table.
  const { variableSynonyms } = await import('./other-tools.ts');
  const names = variables.filter((one) => one.startsWith('SVC_')).map((one) => one.slice('SVC_'.length));
  return [
    ...warnings,
    ...unread.flatMap((name) => {
      const word = name.slice('SVC_'.length);
      const parts = word.split('_');
      const fuller = names.find((one) => parts.length > 1 && parts.every((part) => one.split('_').includes(part)));
      const known = variableSynonyms[word] ?? closestMatches(word, names)[0] ?? fuller;
      // A key of feedback and calls is a password.
      const meant = known === 'TOKEN' && /^(?:feedback|call)$/.test(line.words[0] ?? '') ? 'PASSWORD' : known;
      if (meant) return [`${name} is not a variable of svc; did you mean SVC_${meant}?`];
      const flag = command?.flags.find((one) => one.name === flagName(word.toLowerCase()));
      return flag ? [`${name} is not a variable of svc; write --${flag.name}`] : [];
    }),
  ];
}

// The name of a file does not select the format.
function otherFormat({ tokens, command }: PreparedCommandLine, output = ''): string[] {
  const given = (...names: readonly string[]) => tokens.find(({ flag }) => flag && names.includes(flag.name));
  const [, type = ''] = /\.(\w+)$/.exec(output.toLowerCase().replace(/\.yml$/, '.yaml')) ?? [];
  if (given('join', 'columns', 'jq', 'output-format', 'dry-run', 'curl', 'format', 'json')) return [];
  if (!given('batch', 'rows') && command?.name !== 'batch merge') {
    const { formats, piped }: ResultFormats<string> = resultKinds[command?.result ?? 'lines'];
    // The text of a chat may be JSON.
    const isOther =
      formats.includes(type) &&
      type !== piped &&
      !given('file', 'json-schema', 'response-format', 'extract', 'conversation');
    const written = piped === 'text' ? 'the text of the response' : 'JSON';
    return isOther ? [`-o ${output} writes ${written}; for ${type.toUpperCase()}, add --format ${type}`] : [];
  }
  if (!/^(?:csv|tsv|xlsx?|ods|parquet|html?|md)$/.test(type)) return [];
  const { value: rows = '' } = given('rows') ?? {};
  const operands =
    command?.name === 'batch merge' ? tokens.flatMap(({ form, value }) => (form === undefined && value) || []) : [];
  const table = /\.[ct]sv$/i.test(rows)
    ? `--join ${shellWord(rows)} --columns answer=text`
    : `--jq '[.line, .exit_code, .response.choices[0].message.content] | @csv'`;
  const hint = /^[hm]/.test(type)
    ? `for a page: svc batch report ${shellWord(output)} --html <file>`
    : `for a table: svc batch merge ${operands.length > 0 ? operands.map(shellWord).join(' ') : shellWord(output)} ${table} -o <file>`;
  return [`-o ${output} writes JSON Lines; ${hint}`];
}

// Numbers without a unit that are rather milliseconds (docs/internals/decisions/0065-numbers-without-a-unit.md).
function bareDurations({ tokens }: PreparedCommandLine, env: Runtime['env']): string[] {
  const ofFlags = tokens.flatMap(({ flag, form, value = '' }) => {
    if (flag?.value === '<duration>') return [[`${form} ${value}`, value] as const];
    if (flag?.name !== 'fault') return [];
    return Array.from(
      value.matchAll(/\b(?:delay|ttft)=(\d+)(?=,|$)/g),
      ([term, number = '']) => [term, number] as const,
    );
  });
  const ofVariables = settings.flatMap(({ kind, variable }: Setting) => {
    const value = (kind === 'duration' && variable && env[variable]) || '';
    return value === '' ? [] : [[`${variable}=${value}`, value] as const];
  });
  return [...ofFlags, ...ofVariables].flatMap(([label, text]) =>
    isLikelyMilliseconds(text)
      ? [`${label} is ${text} seconds; write ${text}s for seconds, or ${text}ms for milliseconds`]
      : [],
  );
}

function isLikelyMilliseconds(text: string): boolean {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  // Beyond what a timer takes, it is an error.
  return (
    number >= MIN_LIKELY_MILLISECONDS &&
    number * 1000 < 2 ** 31 &&
    !(number % 300 === 0 && SECONDS_PER_DAY % number === 0)
  );
}

// Operands that begin as commands of other tools do, joined by line feeds.
const COMMAND =
  /^(?:(?:chat|completions?)\n.*|(?:chat|complete|create|ask|send|new|run|start|stop|list|ls|show|get|delete|rm|cancel|login|logout|status|history|logs?|models?|config|version|info|clear|reset|exit|quit)(?:\n\S+)?)$/s;

// `svc chat list`: its words are the prompt.
function commandPrompt({ tokens, literal, command }: PreparedCommandLine): string[] {
  const operands = tokens.flatMap(({ form, value }) => (form === undefined && value) || []);
  if (command?.operation?.arguments?.as !== 'prompt' || literal || !COMMAND.test(operands.join('\n'))) return [];
  return [`${JSON.stringify(operands.join(' '))} is sent as the prompt; for the commands of svc, run: svc --help`];
}

// Node decodes every invalid byte of an argument to this character.
const REPLACEMENT_CHARACTER = '\uFFFD';

/** Throws usage for an argument that is not UTF-8, by the bytes of the command line; without them, returns a warning. */
export function checkArgumentEncoding(
  argv: readonly string[],
  readBytes: () => Uint8Array | undefined,
): string | undefined {
  const at = argv.findIndex((word) => word.includes(REPLACEMENT_CHARACTER));
  if (at === -1) return undefined;
  const bytes = readBytes();
  if (!bytes) return `argument ${at + 1} contains U+FFFD; it may not have been valid UTF-8`;
  // Latin-1 keeps every byte.
  const words = Buffer.from(bytes).toString('latin1').split('\0').slice(0, -1);
  const invalid = words.slice(-argv.length).findIndex((word) => !isUtf8(Buffer.from(word, 'latin1')));
  if (invalid === -1) return undefined;
  throw usageFailure(
    `argument ${invalid + 1} is not valid UTF-8: ${JSON.stringify(argv[invalid])}`,
    'convert it to UTF-8',
  );
}
