import type { Command, RunCommand } from '../../command.ts';
import { settingFlag } from '../../config/settings.ts';
import { type Flag, type FlagList, flagGroup, type OptionsOfList } from '../../flag.ts';
import type { Example } from '../../operations/operation.ts';
import { type ResultOptions, resultFlags } from '../../output/output-format.ts';

const verbosityFlags = flagGroup('Output', {
  '-v, --verbose': 'Show requests and responses; secrets are redacted',
  '-q, --quiet': 'Print errors only',
});

/** The flags of every command, which main reads. */
export const reportFlags: FlagList<
  OptionsOfList<typeof verbosityFlags> & { readonly errorFormat: string | undefined }
> = [
  ...verbosityFlags,
  settingFlag('error_format'),
  ...flagGroup('Output', {
    '--color <when>': {
      summary: 'Color: auto, always or never',
      default: 'auto',
      choices: ['auto', 'always', 'never'],
      hasOff: true,
      offSummary: 'Print without color',
    },
    '--no-input': 'Never prompt and start no interactive session; the same as CI=1',
  }),
];

/** A command whose `load` gives what runs it. It reads options that its flags have: `O` is all that it may read. */
interface CommandDefinition<O> extends Pick<Command, 'summary' | 'about' | 'argument' | 'operation' | 'result'> {
  /** Created when they are needed. */
  readonly flags?: () => FlagList<O>;
  /** It prints nothing but its result: `--quiet` is accepted, but not listed in help. */
  readonly isQuiet?: true;
  /** What each example does, by its command line without `svc`. */
  readonly examples: readonly Example[] | { readonly [args: string]: string };
  readonly load: () => Promise<RunCommand<O & ResultOptions & OptionsOfList<typeof reportFlags>>>;
}

type UnnamedCommand = (name: string, group: string) => Command;

/** The commands of one heading of help, by name. */
export function defineCommands(group: string, definitions: { readonly [name: string]: UnnamedCommand }): Command[] {
  return Object.entries(definitions).map(([name, define]) => define(name, group));
}

/** A command. Its flags are created on first use: a run needs those of one command. */
export function command<O extends object = object>(definition: CommandDefinition<O>): UnnamedCommand {
  return (name, group) => {
    const { flags: createOwn, isQuiet, examples, load, ...same } = definition;
    let flags: readonly Flag[] | undefined;
    return {
      ...same,
      name,
      words: name.split(' '),
      group,
      examples: Array.isArray(examples) ? examples : Object.entries(examples).map(([args, why]) => ({ args, why })),
      get flags() {
        if (flags) return flags;
        const own: readonly Flag[] = createOwn?.() ?? [];
        const sends = own.some(({ name }) => name === 'allow-http');
        const isHidden = ({ name }: Flag): boolean =>
          (name === 'verbose' && !sends) || (name === 'quiet' && isQuiet === true);
        flags = [
          ...own,
          // An operation lists them among its own.
          ...(same.result && !same.operation ? resultFlags(same.result) : []),
          ...reportFlags.map((flag): Flag => (isHidden(flag) ? { ...flag, isHidden: true } : flag)),
        ];
        return flags;
      },
      get listedFlags() {
        return this.flags.filter((flag) => !flag.isHidden);
      },
      run: async (args, readOptions, context) => {
        const runCommand = await load();
        return (await runCommand({ args, options: readOptions() }, context)) ?? undefined;
      },
    };
  };
}
