import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { type Mistake, mistakesPage, openScene, readMistakes } from '../support/mistake-scene.ts';
import { program, waitForExit } from '../support/process.ts';
import { svc } from '../support/svc.ts';

// Processes that run at the same time.
const CONCURRENCY = 8;

// Every block of the page is run, and the page is rendered again with what svc printed. `npm run generate` rewrites it:
// read the diff before it is committed.
it('each mistake prints what happened, why, and the next step', { timeout: 600_000 }, async () => {
  const text = readFileSync(mistakesPage, 'utf8');
  const blocks = readMistakes();
  expect(blocks.length).toBeGreaterThanOrEqual(60);
  const rendered = new Map<string, string>();
  const queue = [...blocks];
  const work = async (): Promise<void> => {
    for (let block = queue.shift(); block !== undefined; block = queue.shift())
      rendered.set(block.block, await renderBlock(block));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  const actual = text.replace(/^```console\n[\s\S]*?^```$/gm, (block) => rendered.get(block) ?? '');
  await expect(actual).toMatchFileSnapshot(mistakesPage);
});

it('each mistake names what it happened to, and none is a bug in svc', () => {
  const text = readFileSync(mistakesPage, 'utf8');
  expect(text.match(/bug in svc|undefined|\[object/g)).toEqual(null);
});

it('at least 95 of 100 failures have a line with the next step, or with what to fix', () => {
  const blocks = [...readFileSync(mistakesPage, 'utf8').matchAll(/^```console\n([\s\S]*?)^exit (\d+)\n```$/gm)];
  const failed = blocks.filter(([, , code]) => code !== '0').map(([, text = '']) => text);
  const silent = failed.filter((text) => !/^ {2}\S/m.test(text));
  expect(silent.length / failed.length, silent.join('\n')).toBeLessThanOrEqual(0.05);
});

/** A block with what its command printed. */
async function renderBlock({ block, command, setup }: Mistake): Promise<string> {
  const { cwd, env, port } = await openScene(setup);
  const { code, stderr } = await runCommand(command, cwd, env);
  const printed = stderr
    .replaceAll(`127.0.0.1:${port}`, '127.0.0.1:8080')
    .replaceAll(`port ${port}`, 'port 8080')
    .replaceAll(cwd, '~')
    .replace(/\d{4}-\d\d-\d\dT[\d:]+Z$/gm, '…')
    .replace(/retrying in [\d.]+ s|retrying now|retrying(?= \()/g, 'retrying in … s')
    .replace(/\d+ ms\b|(?:[\d.]+ s, )?[\d.]+\/s/g, '…')
    .replace(/\n$/, '');
  const input = block.split('\n').filter((line) => line.startsWith('# ') || line.startsWith('$ '));
  return ['```console', ...input, ...(printed === '' ? [] : [printed]), `exit ${code}`, '```'].join('\n');
}

/** Runs svc in this process; by the built program if the command needs a shell, or the thread of jq, which is part of the build. */
async function runCommand(
  command: string,
  cwd: string,
  env: Record<string, string>,
): Promise<{ code: number | null; stderr: string }> {
  const isProgram = !command.startsWith('svc ') || /[|&;<>`]|\$\(|--jq/.test(command);
  const body = isProgram ? `"${process.execPath}" "${program}" "$@"` : `printf '%s\\0' "$@"`;
  const script = `svc() { ${body}; }\n${command}${isProgram ? ' >/dev/null' : ''}`;
  const child = spawn('bash', ['-c', script], { cwd, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end();
  const ended = await waitForExit(child);
  return isProgram ? ended : svc(ended.stdout.split('\0').slice(0, -1), { cwd, env, stdin: '' });
}
