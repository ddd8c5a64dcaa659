import { spawn } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { darkTheme, lightTheme, renderChart, renderTerminal } from '../../scripts/render-svg.ts';
import { cleanEnv, program, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const root = new URL('../../', import.meta.url).pathname;
const COLUMNS = 96;

// Each picture is a session with the built program in a pseudo-terminal. `npm run pictures` draws them again.
const sessions: readonly { readonly name: string; readonly commands: readonly string[] }[] = [
  {
    name: 'session',
    commands: [
      'chat --local -s "Answer briefly" "Name three rivers"',
      'feedback replace --local -f feedback.json',
      'feedback schema --local --project-id acme/support-bot --since 7d',
      'feedback schema --local --project-id acme/support-bot --since 7d --sample-limit 9000',
    ],
  },
];

describe.each(sessions)('the picture $name', ({ name, commands }) => {
  it('shows what the program prints', { timeout: 120_000 }, async () => {
    const cwd = temporaryDirectory();
    cpSync(`${root}test/demo`, cwd, { recursive: true });
    const screens: string[] = [];
    for (const command of commands)
      screens.push(`\u001b[1m$ svc ${command}\u001b[0m\n${await onTerminal(command, cwd)}`);
    const text = withoutChange(screens.join('\n'));
    await expect(renderTerminal(text, COLUMNS, lightTheme)).toMatchFileSnapshot(
      `${root}docs/pictures/${name}-light.svg`,
    );
    await expect(renderTerminal(text, COLUMNS, darkTheme)).toMatchFileSnapshot(`${root}docs/pictures/${name}-dark.svg`);
  });
});

it('the chart shows the ratios of docs/performance.md', async () => {
  const page = readFileSync(`${root}docs/performance.md`, 'utf8');
  // A row that begins with "the same" is about the subject of the row above it.
  let subject = '';
  const bars = page
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .flatMap(([, row = '', , measured = '']) => {
      const ratio = Number(/^(\d+\.\d+)/.exec(measured)?.[1]);
      const [what = '', peer = ''] = row.split(' / ');
      if (what !== 'the same') subject = what;
      return peer !== '' && ratio <= 3.6 ? [{ label: `${subject} / ${peer}`, ratio }] : [];
    });
  expect(bars.length).toBeGreaterThan(5);
  const title = 'Time of svc relative to its peer (less is faster; 1 is equal)';
  await expect(renderChart(title, bars, lightTheme)).toMatchFileSnapshot(`${root}docs/pictures/benchmark-light.svg`);
  await expect(renderChart(title, bars, darkTheme)).toMatchFileSnapshot(`${root}docs/pictures/benchmark-dark.svg`);
});

async function onTerminal(command: string, cwd: string): Promise<string> {
  const line = `stty cols ${COLUMNS}; "${process.execPath}" "${program}" ${command}`;
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd,
    env: { ...cleanEnv(cwd), TERM: 'xterm-256color', CI: '1', SHELL: '/bin/bash' },
  });
  child.stdin.end();
  const { stdout } = await waitForExit(child);
  return stdout.replaceAll('\r\n', '\n').replaceAll('^D\b\b', '');
}

// Ids and times are new in each run.
function withoutChange(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-01-31T09:30:00.000Z');
}
