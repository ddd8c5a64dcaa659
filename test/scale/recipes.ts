import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { answerJson, type CountingServer, countingServer } from '../support/counting-server.ts';
import { cleanEnv, inShell, program } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const guide = readFileSync(new URL('../../docs/scale.md', import.meta.url), 'utf8');

/** The first script of a section of docs/scale.md. */
export function recipe(section: string, language = 'bash'): string {
  const [, text = ''] = guide.split(new RegExp(`\n##+ ${section}\n`));
  const [, script] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(text) ?? [];
  if (script === undefined) throw new Error(`docs/scale.md has no script for ${section}`);
  return script;
}

/** A directory with `prompts.jsonl`, a service that counts each prompt, and the environment of a machine with svc. */
export interface Workplace {
  readonly cwd: string;
  readonly lines: number;
  readonly server: CountingServer;
  readonly env: Record<string, string>;
  /** How many prompts the service has seen. */
  readonly seen: () => number;
  /** The ids of the processes of svc, oldest first. */
  readonly processes: () => number[];
}

/** Prepares a batch of prompts, each of which takes the service `delayMs`. */
export async function prepareWorkplace(lines: number, delayMs: number): Promise<Workplace> {
  const cwd = temporaryDirectory();
  const server = await countingServer(
    (body) => JSON.parse(body).messages[0].content,
    ({ key }, response) =>
      void setTimeout(() => {
        const choice = { index: 0, message: { role: 'assistant', content: key }, finish_reason: 'stop' };
        answerJson(response, { id: key, object: 'chat.completion', created: 1, model: 'm', choices: [choice] });
      }, delayMs),
  );
  const prompts = Array.from({ length: lines }, (_, at) =>
    JSON.stringify({ model: 'm', messages: [{ role: 'user', content: `prompt-${at + 1}` }] }),
  );
  writeFileSync(join(cwd, 'prompts.jsonl'), `${prompts.join('\n')}\n`);
  const bin = temporaryDirectory();
  writeFileSync(
    join(bin, 'svc'),
    `#!/bin/sh\necho $$ >> "${join(bin, 'pids')}"\nexec "${process.execPath}" "${program}" "$@"\n`,
    { mode: 0o755 },
  );
  const env = cleanEnv(cwd, {
    PATH: `${bin}:${process.env.PATH}`,
    SVC_BASE_URL: server.url,
    SVC_TOKEN: 'tok-en-1',
  });
  return {
    cwd,
    lines,
    server,
    env,
    seen: () => server.counts.size,
    processes: () => readFileSync(join(bin, 'pids'), 'utf8').trim().split('\n').map(Number),
  };
}

/** Expects one result for each prompt in `all.jsonl`, and that the service has seen each prompt once. */
export function expectComplete({ cwd, lines, server }: Workplace): void {
  const results = readFileSync(join(cwd, 'all.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const numbers = Array.from({ length: lines }, (_, at) => at + 1);
  expect(results.map(({ line }) => line)).toEqual(numbers);
  expect(results.map(({ response }) => response?.id)).toEqual(numbers.map((number) => `prompt-${number}`));
  expect([...server.counts].filter(([, count]) => count !== 1)).toEqual([]);
  expect(server.counts.size).toBe(lines);
}

/** Merges the outputs of all shards into `all.jsonl`. */
export async function mergeShards({ cwd, env }: Workplace): Promise<void> {
  const { code, stderr } = await inShell('svc batch merge out-*.jsonl --input prompts.jsonl -o all.jsonl', {
    cwd,
    env,
  });
  expect(code, stderr).toBe(0);
}

/** Waits until a condition holds; fails after two minutes, or so many tenths of a second. */
export async function until(condition: () => boolean | Promise<boolean>, attempts = 1200): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`not within ${attempts / 10} s: ${condition}`);
}

/** Starts a daemon in the foreground, which ends with the test. */
export function startDaemon(
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): ChildProcess {
  const child = spawn(command, args, { cwd, stdio: 'ignore', env: { PATH: `${process.env.PATH}:/usr/sbin`, ...env } });
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        child.once('close', () => resolve());
        child.kill();
      }),
  );
  return child;
}
