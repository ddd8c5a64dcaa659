import { flagName } from '../fields/field.ts';
import { type FlagList, type FlagValue, flagGroup, type Options, type OptionValues, optionKey } from '../flag.ts';
import { flagTarget, type Operation } from '../operations/operation.ts';

/** The formats of files with a whole body. To add one, add a row, and its parser to build-body.ts. */
export const bodyFormats = [
  { format: 'JSON', suffixes: ['.json'] },
  { format: 'YAML', suffixes: ['.yaml', '.yml'] },
] as const;

export type BodyFormat = (typeof bodyFormats)[number]['format'];

/** The format that the name of a file says; JSON for any other name, and for stdin. */
export function bodyFormat(path: string): BodyFormat {
  return formatOf(path)?.format ?? 'JSON';
}

/** True for a name that ends as those of files with a body do. */
export function isBodyFile(path: string): boolean {
  return formatOf(path) !== undefined;
}

/** The formats besides JSON with their files, which `describeFiles` names: `YAML in a .yaml file`. */
export function otherBodyFormats(describeFiles: (suffixes: readonly string[]) => string): string {
  const [, ...others] = bodyFormats;
  return others.map(({ format, suffixes }) => `${format} in ${describeFiles(suffixes)}`).join(', or ');
}

function formatOf(path: string) {
  return bodyFormats.find(({ suffixes }) => suffixes.some((suffix) => path.toLowerCase().endsWith(suffix)));
}

const bodySourceForms = {
  '-f, --file <file>': {
    summary: `JSON body, or ${otherBodyFormats(([first]) => `a ${first} file`)}; flags change its fields; - is stdin`,
    isOnce: true,
    conflicts: ['batch', 'rows'],
  },
  '--set <path=value>...': 'Set a field by its path (a.b=text, or a.b:=JSON such as a.b:=null; repeatable)',
  '--exact': 'Send the body as given: add no fields',
  '--strict': { summary: 'Treat warnings as errors', conflicts: ['no-check'] },
  '--no-check': 'Treat errors in the body as warnings',
  '--[no-]stdin': {
    summary:
      'Read stdin, and wait for it without the limit of 10 minutes; --no-stdin never reads it, for example in a loop',
    offSummary: 'Never read stdin',
  },
} as const;

export type BodySourceOptions = Options<typeof bodySourceForms>;

export function bodySourceFlags(conflicts: readonly string[]): FlagList<BodySourceOptions> {
  const stdin = { ...bodySourceForms['--[no-]stdin'], conflicts };
  return flagGroup('Body', { ...bodySourceForms, '--[no-]stdin': stdin });
}

/** What the flags of fields and shorthands say, and `--set`, by the names of the flags. */
export type BodyFlags = ReadonlyMap<string, FlagValue>;

/** The flags among the options of a command that make a body of the operation. */
export function readBodyFlags(operation: Operation, options: OptionValues): BodyFlags {
  const given = bodyFlagNames(operation).map((name) => [name, options[optionKey(name)]] as const);
  return new Map(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

export function bodyFlagNames({ shorthands = {}, ...operation }: Operation): string[] {
  return [...Object.keys(flagTarget(operation).fields).map(flagName), ...Object.keys(shorthands), 'set'];
}

export function givenText(given: BodyFlags, name: string): string | undefined {
  const value = given.get(name);
  return typeof value === 'string' ? value : undefined;
}

export function givenTexts(given: BodyFlags, name: string): readonly string[] {
  const value = given.get(name);
  return typeof value === 'object' ? value : [];
}
