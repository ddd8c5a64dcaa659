import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { program } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runLineOnTerminal, runOnTerminal, type TerminalSetting } from '../support/terminal.ts';

const has = (name: string): boolean => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
const missing = ['vi', 'less'].filter((name) => !has(name));
if (!hasTerminal) process.stderr.write('skipped: traced commands on a terminal; script of util-linux is missing\n');
if (missing.length > 0) process.stderr.write(`skipped: ${missing.join(' and ')} on a terminal; not installed\n`);

const callRun = ['call', 'run', '--local', '--project-id', 'a/b', '--spool=only'];

/** Runs a command as a traced call on a terminal. */
function traced(command: readonly string[], setting: TerminalSetting = {}) {
  return runOnTerminal([...callRun, '--', ...command], setting);
}

describe.skipIf(!hasTerminal)('a traced command on a terminal', () => {
  it('has the terminal on stdin, stdout and stderr', async () => {
    const { code, screen } = await traced(['sh', '-c', 'test -t 0 && test -t 1 && test -t 2 && stty size; exit 3'], {
      columns: 91,
    });
    expect([code, screen]).toEqual([3, '24 91\r\n']);
  });

  it.skipIf(!has('vi'))('can be vi', async () => {
    const cwd = temporaryDirectory();
    const { code } = await traced(['vi', '-u', 'NONE', '-N', 'note.txt'], {
      cwd,
      typed: [['note.txt', 'ihello from vi\x1b:wq\r']],
    });
    expect([code, readFileSync(join(cwd, 'note.txt'), 'utf8')]).toEqual([0, 'hello from vi\n']);
  });

  it.skipIf(!has('less'))('can be less', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'lines'), Array.from({ length: 300 }, (_, at) => `line-${at + 1}\n`).join(''));
    const { code, screen } = await traced(['less', 'lines'], {
      cwd,
      typed: [
        ['line-23\r\n', 'G'],
        ['line-300\r\n', 'q'],
      ],
    });
    expect([code, screen.includes('line-150')]).toEqual([0, false]);
  });

  it('gets Ctrl-C once, and handles it', async () => {
    const script = `trap 'echo "interrupted"' INT; echo ready; read line; echo "then $line"; exit 4`;
    const { code, screen } = await traced(['bash', '-c', script], {
      typed: [
        ['ready', '\x03'],
        ['interrupted', 'more\r'],
      ],
    });
    expect(code).toBe(4);
    expect(screen.match(/interrupted/g)).toHaveLength(1);
    expect(screen).toContain('then more');
  });

  // Ctrl-C reaches svc and the command. A signal that svc alone receives shows whether it would arrive twice.
  it.each([
    ['', 4],
    ['setsid --wait ', 5],
  ])('with all streams redirected, started by %j: exit code %i', async (prefix, expected) => {
    const cwd = temporaryDirectory();
    const script = 'trap "exit 5" INT; kill -INT $PPID; sleep 0.5; exit 4';
    const words = [process.execPath, program, ...callRun, '--', 'bash', '-c', `'${script}'`].join(' ');
    const { code } = await runLineOnTerminal(`${prefix}${words} < /dev/null > out 2> err`, { cwd });
    expect(code, readFileSync(join(cwd, 'err'), 'utf8')).toBe(expected);
  });

  it('ends by Ctrl-C with 130 if it does not handle it', async () => {
    const { code } = await traced(['sh', '-c', 'echo ready; exec sleep 60'], { typed: [['ready', '\x03']] });
    expect(code).toBe(130);
  });

  it('is stopped by Ctrl-Z and continued by fg', async () => {
    const script = `'echo rea"dy"; read line; echo "got $line"; exit 9'`;
    const { screen } = await runLineOnTerminal('exec bash --norc --noprofile -i', {
      columns: 400,
      env: { PS1: 'prompt>', HISTFILE: '' },
      typed: [
        ['prompt>', `${[process.execPath, program, ...callRun].join(' ')} -- sh -c ${script}\r`],
        ['ready\r\n', '\x1a'],
        ['Stopped', 'fg\r'],
        ['fg\r\n', ''],
        // The shell prints the command once it has left the mode in which a carriage return does not end a line.
        [callRun.join(' '), 'word\r'],
        ['got word', 'echo "code $?"; exit\r'],
      ],
    });
    expect(screen).toContain('code 9');
  });

  it.each([
    ['in the process group of svc', `sh -c 'kill -STOP $$; echo con"tin"ued; exit 9'`],
    ['in a process group of its own', `bash --norc -ic 'suspend -f; echo con"tin"ued; exit 9'`],
  ])('that stops only itself returns to the shell, and is continued by fg: %s', async (_, command) => {
    const { screen } = await runLineOnTerminal('exec bash --norc --noprofile -i', {
      columns: 400,
      env: { PS1: 'prompt>', HISTFILE: '' },
      typed: [
        ['prompt>', `${[process.execPath, program, ...callRun].join(' ')} -- ${command}\r`],
        ['Stopped', 'fg\r'],
        ['continued', 'echo "code $?"; exit\r'],
      ],
    });
    expect(screen).toContain('code 9');
  });

  // A shell without job control would wait for ever.
  it('that stops only itself does not stop svc where no shell waits for stopped jobs', async () => {
    const resume = '(while ! grep -q "State:.T" /proc/$$/status; do sleep 0.1; done; sleep 1; kill -CONT $$) &';
    const { code } = await traced(['sh', '-c', `${resume} kill -STOP $$; exit 9`]);
    expect(code).toBe(9);
  });
});
