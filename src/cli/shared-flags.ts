import type { Command } from '../command.ts';
import { type Setting, type SettingName, settingFlag, settings } from '../config/settings.ts';
import { type Flag, type FlagForms, flagGroup } from '../flag.ts';
import type { Example } from '../operations/operation.ts';
import { type ResultKind, requestResultKind, resultFilters, resultKinds } from '../results/output-format.ts';

export const reportFlags: readonly Flag[] = [
  ...flagGroup('Output', {
    '-v, --verbose': 'Show requests and responses; secrets are redacted',
    '-q, --quiet': 'Print errors only',
  }),
  settingFlag('error_format'),
  ...flagGroup('Output', {
    '--color <when>': {
      summary: 'Color: auto, always or never (default: auto); --no-color is never',
      choices: ['auto', 'always', 'never'],
      hasOff: true,
      offSummary: 'Print without color',
    },
    '--no-input': 'Never prompt and start no interactive session; the same as CI=1',
  }),
];

export function resultFlags(kind: ResultKind): Flag[] {
  const { formats } = resultKinds[kind];
  return flagGroup('Output', {
    '--format <format>': {
      summary: `Format of the result: ${formats.join(', ')}`,
      choices: formats,
      choicesBeside: (flags) => resultKinds[requestResultKind(kind, flags)].formats,
    },
    '--json': 'Print the whole result as JSON (the same as --format json)',
    ...filterForms(),
  });
}

export function filterForms(details: Pick<Flag, 'conflicts'> = {}): FlagForms {
  return Object.fromEntries(
    Object.entries(resultFilters).map(([name, { value, summary }]) => [`--${name} ${value}`, { ...details, summary }]),
  );
}

export const yesFlag: readonly Flag[] = flagGroup('Common', { '-y, --yes': 'Do not ask for confirmation' });

export function bodySourceFlags(conflicts: readonly string[]): Flag[] {
  return flagGroup('Body', {
    '-f, --file <file>': {
      summary: 'JSON body, or YAML in a .yaml file; flags change its fields; - is stdin',
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
      conflicts,
    },
  });
}

export const profileFlag: Flag = settingFlag('profile');

export const localFlags: readonly Flag[] = flagGroup('Connection', {
  '--local': 'Use the local service; needs no network and no credentials',
});

export const summaryFlags: readonly Flag[] = flagGroup('Output', {
  '--summary <file>': { summary: 'Append a Markdown summary of the run, for CI', conflicts: ['dry-run', 'curl'] },
});

export const sendingFlags: readonly Flag[] = flagGroup('Output', {
  '-o, --output <file>': 'Write the result to a file; - is stdout',
  '-n, --dry-run': 'Print the request and send nothing',
  '--curl': { summary: 'Print the request as a curl command and send nothing', conflicts: ['dry-run'] },
});

export function serviceFlags(): Flag[] {
  const names = settings.flatMap((setting: Setting & { readonly name: SettingName }) =>
    setting.flag === 'requests' && setting.name !== 'profile' ? [setting.name] : [],
  );
  return [
    profileFlag,
    ...localFlags,
    ...names.map(settingFlag),
    ...flagGroup('Connection', { '--allow-http': 'Allow credentials over plain http' }),
  ];
}

/** The flags that may come before the command: those that several commands share. */
export function sharedFlags(): Flag[] {
  return [...serviceFlags(), ...resultFlags('chat'), ...sendingFlags, ...reportFlags];
}

interface CommandDefinition extends Pick<Command, 'summary' | 'about' | 'argument' | 'operation' | 'load'> {
  /** Its own flags: those under the heading Common, or all, created when they are needed. */
  readonly flags?: FlagForms | (() => readonly Flag[]);
  /** The kind of its result, whose formats it accepts. */
  readonly result?: ResultKind;
  /** Flags about reporting that have no effect, as `verbose` if it sends no request: accepted, but not listed in help. */
  readonly hides?: readonly ('verbose' | 'quiet')[];
  /** What each example does, by its command line without `svc`. */
  readonly examples: readonly Example[] | { readonly [args: string]: string };
}

/** The commands of one heading of help, by name. Their flags are created on first use: a run needs those of one command. */
export function defineCommands(group: string, definitions: { readonly [name: string]: CommandDefinition }): Command[] {
  return Object.entries(definitions).map(([name, definition]) => {
    const { flags: own = {}, result, hides = ['verbose'], examples, ...same } = definition;
    const isHidden = (flag: Flag): boolean => hides.some((hidden) => hidden === flag.name);
    let flags: readonly Flag[] | undefined;
    return {
      ...same,
      name,
      words: name.split(' '),
      group,
      examples: Array.isArray(examples) ? examples : Object.entries(examples).map(([args, why]) => ({ args, why })),
      get flags() {
        flags ??= [
          ...(typeof own === 'function' ? own() : flagGroup('Common', own)),
          ...(result ? resultFlags(result) : []),
          ...reportFlags.map((flag): Flag => (isHidden(flag) ? { ...flag, isHidden: true } : flag)),
        ];
        return flags;
      },
      get listedFlags() {
        return this.flags.filter((flag) => !flag.isHidden);
      },
    };
  });
}
