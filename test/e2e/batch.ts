import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { cleanEnv, program, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const credentials = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' };
const completion = { model: 'm', choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }], usage: {} };

/** An operation whose batches are killed: its lines, and how to distinguish its requests. */
export interface Kind {
  readonly command: readonly string[];
  readonly line: (number: number) => unknown;
  readonly keyOf: (body: string) => string;
  readonly reply: unknown;
  /** Sending a line twice is no duplicate: its id is the same. */
  readonly isHarmless: boolean;
}

/** Chats, which are paid for. */
export const chats: Kind = {
  command: ['chat'],
  line: (number) => ({ messages: [{ role: 'user', content: `p${number}` }] }),
  keyOf: (body) => JSON.parse(body).messages[0].content,
  reply: completion,
  isHarmless: false,
};

/** Calls, which have ids. */
export const calls: Kind = {
  command: ['call', 'start'],
  line: (number) => ({ start: { project_id: 'a/b', op_name: `p${number}` } }),
  keyOf: (body) => {
    const { op_name, id, started_at } = JSON.parse(body).start;
    return `${op_name} ${id} ${started_at}`;
  },
  reply: { id: 'i', trace_id: 't' },
  isHarmless: true,
};

/** The result of a batch that was killed repeatedly. */
export interface Outcome {
  readonly kills: number;
  /** Lines without a result. */
  readonly lost: number;
  /** Requests that arrived more often than the program declared. */
  readonly undeclared: number;
  /** Lines that it reported as possibly applied. */
  readonly unknown: number;
}

/**
 * Runs a batch of `lines` lines, and kills it with SIGKILL `kills` times, each time when a random number of further requests
 * has arrived, and resumes it; `random` is from 0 to 1. The last run completes.
 */
export async function runKilledBatch(kind: Kind, lines: number, kills: number, random: () => number): Promise<Outcome> {
  const cwd = temporaryDirectory();
  const file = Array.from({ length: lines }, (_, at) => `${JSON.stringify(kind.line(at + 1))}\n`).join('');
  writeFileSync(join(cwd, 'in.jsonl'), file);
  let left = Number.POSITIVE_INFINITY;
  let kill = (): void => {};
  const { url, counts } = await countingServer(kind.keyOf, (_, response) => {
    left -= 1;
    if (left <= 0) kill();
    answerJson(response, kind.reply);
  });
  const args = [program, ...kind.command, '--batch', 'in.jsonl', '-o', 'out.jsonl', '--resume'];
  const env = cleanEnv(cwd, { ...credentials, SVC_BASE_URL: url });
  let count = 0;
  for (; count < kills; count += 1) {
    // Some are killed before the first request, most in the middle.
    left = 1 + Math.floor((random() * 2 * lines) / kills);
    const child = spawn(process.execPath, args, { cwd, env });
    kill = () => void child.kill('SIGKILL');
    const { signal, code, stderr } = await waitForExit(child);
    if (signal !== 'SIGKILL') {
      expect([0, 10], stderr).toContain(code);
      break;
    }
  }
  left = Number.POSITIVE_INFINITY;
  const { code, stderr } = await waitForExit(spawn(process.execPath, args, { cwd, env }));
  const entries: { line: number; exit_code: number; applied: string }[] = readFileSync(join(cwd, 'out.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const unknown = entries.filter(({ applied }) => applied === 'unknown');
  expect(code, stderr).toBe(unknown.length > 0 ? 10 : 0);
  expect(existsSync(join(cwd, 'out.jsonl.journal'))).toBe(unknown.length > 0);
  expect(stderr).toContain(
    `${lines} lines: ${lines - unknown.length} done, 0 failed, ${unknown.length} unknown, 0 not sent`,
  );
  const sent = [...counts.values()];
  return {
    kills: count,
    lost: lines - new Set(entries.map(({ line }) => line)).size,
    undeclared: kind.isHarmless ? counts.size - lines : sent.reduce((sum, times) => sum + times - 1, 0),
    unknown: unknown.length,
  };
}
