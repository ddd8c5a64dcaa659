import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { screenAfter } from '../support/screen.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runOnTerminal, type TerminalSetting } from '../support/terminal.ts';

const golden = new URL('./screens.md', import.meta.url).pathname;
const widths = [60, 80, 200] as const;

const record = (at: number, more: object): string => {
  const ids = { id: `chatcmpl-0199f3c05f3a7c219b6e2f1d7a4c8e0${at}` };
  const common = { time: `2026-01-0${at}T10:00:00.000Z`, command: 'chat', url: 'https://api.example.com/v1', ids };
  return `${JSON.stringify({ ...common, ms: 1234 * at, exit_code: 0, applied: 'yes', ...more })}\n`;
};
const history = [
  record(1, { status: 200, model: 'gpt-4o-mini', prompt_tokens: 12, completion_tokens: 340 }),
  record(2, { command: 'feedback replace', status: 404, exit_code: 5, applied: 'no' }),
  record(3, { status: null, exit_code: 8, request: { messages: [{ role: 'user', content: 'Name three rivers' }] } }),
].join('');

/** A directory with a history, a body that is not JSON, and three prompts, of which the service rejects the second. */
function createDirectory(): string {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'data'));
  writeFileSync(join(cwd, 'data', 'requests.jsonl'), history);
  writeFileSync(join(cwd, 'body.json'), '{\n  "messages": [{ "role": "user" "content": "Name three rivers" }]\n}\n');
  const prompts = ['one', 'two', 'three'].map((content) => ({ messages: [{ role: 'user', content }] }));
  writeFileSync(join(cwd, 'prompts.jsonl'), prompts.map((prompt) => `${JSON.stringify(prompt)}\n`).join(''));
  return cwd;
}

/** A service; the response to the third prompt waits until it is released. */
async function createService() {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const message = { role: 'assistant', content: 'Rhine' };
  const completion = JSON.stringify({ choices: [{ index: 0, finish_reason: 'stop', message }] });
  const { url } = await rawServer(async (socket, request) => {
    const text = request.toString();
    if (text.includes('"three"')) await released;
    socket.end(text.includes('"two"') ? httpAnswer('{"error":"no"}', '400 Bad Request') : httpAnswer(completion));
  });
  return { release, env: { SVC_BASE_URL: url, SVC_TOKEN: 'tok-en-1', SVC_RETRIES: '0' } };
}

const batch = ['chat', '--batch', 'prompts.jsonl', '-o', 'out.jsonl'];
const commands = [['-h'], ['--help'], ['chat', '-h'], ['log'], ['chat', '-f', 'body.json'], batch];

// The screen without what differs from run to run: ports, times, and the directory of the guides, which may take a line of its own.
function screenOf(output: string, columns: number): string {
  const fixed = output
    .replace(/\s+Guides:\s+\S+/, '\r\nGuides: DOCS')
    .replace(/(?<=127\.0\.0\.1:)\d+/g, 'PORT')
    .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '*')
    .replace(/\d+ s(?= left)/g, 'N s')
    .replace(/\((?:\d+\.\d+ s, )?\d+\/s\)/g, '(N s, N/s)')
    .replace(/\d+\/s/g, 'N/s');
  return screenAfter(fixed, columns).trimEnd();
}

async function show(args: readonly string[], setting: TerminalSetting): Promise<string> {
  const { release, env } = await createService();
  release();
  const { screen } = await runOnTerminal(args, { cwd: createDirectory(), ...setting, env: { ...env, ...setting.env } });
  return screen;
}

// Shown at most once: several tests compare with the same screens.
const usualScreens = new Map<readonly string[], Promise<string>>();

async function showUsual(args: readonly string[]): Promise<string> {
  const screen = usualScreens.get(args) ?? show(args, { columns: 80 });
  usualScreens.set(args, screen);
  return screen;
}

describe.skipIf(!hasTerminal)('screens (skipped where `script` of util-linux is missing)', () => {
  it('look as in screens.md, which `npm run generate` writes, at 60, 80 and 200 columns', async () => {
    const sections: string[] = [];
    for (const args of commands)
      for (const columns of widths) {
        const screen = screenOf(await (columns === 80 ? showUsual(args) : show(args, { columns })), columns);
        sections.push(`## \`svc ${args.join(' ')}\`, ${columns} columns\n\n\`\`\`console\n${screen}\n\`\`\`\n`);
      }
    for (const columns of widths) {
      const { release, env } = await createService();
      const typed = [['2 of 3', release] as const];
      const { screen } = await runOnTerminal(batch, { cwd: createDirectory(), columns, env, typed });
      const drawn = screen.slice(0, screen.indexOf('in flight', screen.indexOf('2 of 3')) + 'in flight'.length);
      const shown = screenOf(drawn, columns);
      sections.push(`## Progress of a batch, ${columns} columns\n\n\`\`\`console\n${shown}\n\`\`\`\n`);
    }
    const title = '# Screens\n\nWhat svc prints on terminals of three widths. Written by `npm run generate`.\n';
    await expect([title, ...sections].join('\n')).toMatchFileSnapshot(golden);
  });

  it.each(widths)('have no line of help, tables and excerpts with more than %i columns', async (columns) => {
    for (const args of commands.filter((one) => one !== batch)) {
      const lines = (await show(args, { columns, env: { NO_COLOR: '1' } })).replaceAll('\r', '').split('\n');
      const isMessage = (line: string): boolean => args.includes('-f') && !line.startsWith('    ');
      const long = lines.filter((line) => line.length > columns && !line.startsWith('Guides: /') && !isMessage(line));
      expect(long, args.join(' ')).toEqual([]);
    }
  });

  it.each([{ TERM: 'dumb' }, { NO_COLOR: '1' }, { CI: '1', NO_COLOR: '1' }])(
    'have the same text with %j, and no control characters',
    async (env) => {
      for (const args of commands) {
        const plain = await show(args, { env });
        // A spinner may be drawn where only color is unwanted.
        if (args !== batch || !('NO_COLOR' in env) || 'CI' in env) expect(plain).not.toContain('\x1b');
        const [left, right] = [plain, await showUsual(args)].map((one) => screenOf(one, 80));
        expect(left, args.join(' ')).toBe(right);
      }
    },
  );
});
