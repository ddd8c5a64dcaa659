import { spawnSync } from 'node:child_process';

/** The completions of a shell, by the typed line. */
export interface Answers {
  /** The words a line may end with, sorted; without the flag before `=`, a final `=` and the slash of a directory. */
  readonly offers: ReadonlyMap<string, readonly string[]>;
  /** The line as TAB leaves it, where a shell can be asked for it. */
  readonly finished: ReadonlyMap<string, string>;
  /** What the script wrote to stderr. */
  readonly errors: string;
}

/** A shell that completes command lines of svc. */
export interface Shell {
  readonly name: string;
  /** Why it cannot be asked on this machine. */
  readonly missing: string | undefined;
  /** The cases in which TAB completes a line correctly: old bash adds a space after directories. */
  readonly finishes: 'nothing' | 'words' | 'words and directories';
  /** Asks in one session of bounded time. Throws if the shell does not respond to every line. */
  readonly ask: (lines: readonly string[], cwd: string, env: Readonly<Record<string, string>>) => Answers;
}

interface Session {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

const completions = new URL('../../completions/', import.meta.url).pathname;
const driver = (name: string) => new URL(name, import.meta.url).pathname;

const hostOfZsh = `zmodload zsh/zpty
zpty asked 'zsh -f -i 2>&4'
zpty -w asked "source \${(q)DRIVER}"
while zpty -r asked said; do :; done`;

const askingFish = `begin
  source $argv[1]
  for line in $argv[2..]
    printf '%s\\0' $line (complete -C $line | string replace -r '\\t.*' '') ''
  end
end >&3 2>&4`;

/** The shells with a script in completions/; zsh loads its script in two ways. */
export const shells: readonly Shell[] = [
  typing('bash', 'bash', '((BASH_VERSINFO[0] >= 4))', (lines) => bashSession(lines, '')),
  {
    ...typing('bash as 3.2', 'bash', '((BASH_VERSINFO[0] >= 4))', (lines) => bashSession(lines, 'yes')),
    finishes: 'words',
  },
  typing('zsh, sourced', 'zsh', 'zmodload zsh/zpty', (lines) => zshSession(lines, `${completions}_svc`)),
  typing('zsh, autoloaded', 'zsh', 'zmodload zsh/zpty', (lines) => zshSession(lines, completions)),
  listing('fish', 'fish', (lines) => ({
    args: ['--no-config', '-c', askingFish, `${completions}svc.fish`, ...lines],
  })),
];

function bashSession(lines: readonly string[], old: string): Session {
  return {
    args: ['--noprofile', '--rcfile', driver('shells.bash'), '-i'],
    env: { SCRIPT: `${completions}svc.bash`, OLD: old, INPUTRC: '/dev/null' },
    input: lines.map((line) => `${line}\x18a\x18d${line}\x18t\x18d`).join(''),
  };
}

function zshSession(lines: readonly string[], loaded: string): Session {
  const env = { ASKED: lines.join('\n'), LOADED: loaded, DRIVER: driver('shells.zsh'), TERM: 'xterm' };
  return { args: ['-f', '-c', hostOfZsh], env };
}

// A shell that receives keys: first the one that inserts all completions into the line, then TAB.
function typing(name: string, command: string, able: string, session: (lines: readonly string[]) => Session): Shell {
  return {
    name,
    missing: missing(command, able),
    finishes: 'words and directories',
    ask: (lines, cwd, env) => {
      const { answers, errors } = run(command, session(lines), cwd, env);
      if (answers.length !== 2 * lines.length) throw new Error(`${name} gave ${answers.length} answers: ${errors}`);
      const offers = lines.map((line, at) => {
        const [full, ...words] = answers[2 * at] ?? [];
        return [line, full === line ? [] : plain(words.slice(wholeWords(line)))] as const;
      });
      const finished = lines.map((line, at) => [line, answers[2 * at + 1]?.[0] ?? ''] as const);
      return { offers: new Map(offers), finished: new Map(finished), errors };
    },
  };
}

// A shell that lists its completions.
function listing(name: string, command: string, session: (lines: readonly string[]) => Session): Shell {
  return {
    name,
    missing: missing(command, ':'),
    finishes: 'nothing',
    ask: (lines, cwd, env) => {
      const { answers, errors } = run(command, session(lines), cwd, env);
      if (answers.length !== lines.length) throw new Error(`${name} gave ${answers.length} answers: ${errors}`);
      const offers = answers.map(([line = '', ...words]) => [line, plain(words)] as const);
      return { offers: new Map(offers), finished: new Map(), errors };
    },
  };
}

function missing(command: string, able: string): string | undefined {
  const { error, status } = spawnSync(command, ['-c', able]);
  if (error) return `${command} is not installed`;
  return status === 0 ? undefined : `this ${command} cannot: ${able}`;
}

// Completions arrive through file descriptor 3, each list ended by an empty word; errors through file descriptor 4.
function run(
  command: string,
  { args, env, input = '' }: Session,
  cwd: string,
  around: Readonly<Record<string, string>>,
): { answers: string[][]; errors: string } {
  const { output } = spawnSync(command, args, {
    cwd,
    env: { ...around, ...env },
    input,
    stdio: ['pipe', 'ignore', 'ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    timeout: 200_000,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
  });
  const answers = (output[3] ?? '').split('\0\0').filter((answer) => answer !== '');
  return { answers: answers.map((answer) => answer.split('\0')), errors: output[4] ?? '' };
}

// The words before the one that is completed.
function wholeWords(line: string): number {
  return [...line.matchAll(/(?:"[^"]*"|'[^']*'|\\.|[^\s'"\\])+\s+/gy)].length;
}

function plain(words: readonly string[]): string[] {
  return words.map((word) => word.replace(/^--[^=]+=(?=.)/, '').replace(/[=/]$/, '')).sort();
}
