import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnv, program, waitForExit } from './process.ts';
import { temporaryDirectory } from './svc.ts';

/** True if this machine can create a pseudo-terminal, with `script` of util-linux. */
export const hasTerminal = spawnSync('script', ['--version']).status === 0;

export interface OnTerminal {
  readonly code: number | null;
  /** The output on the terminal. */
  readonly screen: string;
  /** The output of the redirected stream. */
  readonly redirected: string;
}

export interface TerminalSetting {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The width in characters (default: 80). */
  readonly columns?: number;
  /** The stream that is redirected to a file. */
  readonly redirect?: 'stdout' | 'stderr';
  /** What to type, the columns to resize to, or what to call, each when its text has appeared after that of the one before. */
  readonly typed?: readonly (readonly [after: string, keys: string | number | (() => void)])[];
}

/** Runs the built program on a pseudo-terminal. */
export async function runOnTerminal(args: readonly string[], setting: TerminalSetting = {}): Promise<OnTerminal> {
  const file = join(temporaryDirectory(), 'redirected');
  const redirect = setting.redirect ? ` ${setting.redirect === 'stdout' ? '' : '2'}>${file}` : '';
  const words = [process.execPath, program, ...args].map(quoted).join(' ');
  const ended = await runLineOnTerminal(`exec ${words}${redirect}`, setting);
  return { ...ended, redirected: setting.redirect ? readFileSync(file, 'utf8') : '' };
}

/** Runs a line of sh on a pseudo-terminal. */
export async function runLineOnTerminal(command: string, setting: TerminalSetting = {}): Promise<OnTerminal> {
  const cwd = setting.cwd ?? temporaryDirectory();
  const terminalFile = join(temporaryDirectory(), 'terminal');
  const line = `tty >${terminalFile}; stty rows 24 cols ${setting.columns ?? 80}; ${command}`;
  const env = cleanEnv(cwd, { TERM: 'xterm-256color', SHELL: '/bin/sh', ...setting.env });
  const child = spawn('script', ['-qefc', line, '/dev/null'], { cwd, env });
  const queue = [...(setting.typed ?? [])];
  let screen = '';
  let searchedTo = 0;
  child.stdout.on('data', (piece: Buffer) => {
    screen += piece;
    for (let [next] = queue; next; [next] = queue) {
      const [after, input] = next;
      const at = screen.indexOf(after, searchedTo);
      if (at === -1) return;
      queue.shift();
      searchedTo = at + after.length;
      if (typeof input === 'string') child.stdin.write(input);
      else if (typeof input === 'function') input();
      // The kernel signals the new size to the program.
      else spawnSync('stty', ['-F', readFileSync(terminalFile, 'utf8').trim(), 'cols', String(input)]);
    }
  });
  const { code } = await waitForExit(child);
  return { code, screen, redirected: '' };
}

/** Runs the built program on a pseudo-terminal that is closed once a text appears. Returns the exit code as a shell sees it. */
export async function runUntilTerminalCloses(args: readonly string[], text: string, cwd: string): Promise<number> {
  const words = [process.execPath, program, ...args].map(quoted).join(' ');
  // The system signals the shell, which ends, and then its children. A trap is not inherited.
  const line = `(trap : HUP; ulimit -c 0; ${words}; echo $? >&3); :`;
  const child = spawn('script', ['-qefc', line, '/dev/null'], {
    cwd,
    env: cleanEnv(cwd, { TERM: 'xterm-256color', SHELL: '/bin/sh' }),
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  let screen = '';
  let status = '';
  child.stdout?.on('data', (piece: Buffer) => {
    screen += piece;
    if (screen.includes(text)) child.kill('SIGKILL');
  });
  child.stdio[3]?.on('data', (piece: Buffer) => {
    status += piece;
  });
  await waitForExit(child);
  return Number(status);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
