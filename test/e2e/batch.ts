import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { cleanEnv, program, waitForExit } from '../support/process.ts';
import { credentials, temporaryDirectory } from '../support/svc.ts';
import { modelId, trajectoryText } from '../support/trajectories.ts';

const completion = { model: 'm', choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }], usage: {} };

/** An operation whose batches are killed: its lines, and how to distinguish its requests. */
export interface Kind {
  readonly command: readonly string[];
  readonly line: (number: number) => unknown;
  readonly keyOf: (body: string) => string;
  readonly reply: unknown;
  /** Sending a line twice is no duplicate: its id is the same. */
  readonly isHarmless: boolean;
  /** Flags of a run of so many lines, when `share` of the kills are done: 1 for the last run. */
  readonly flags?: (lines: number, share: number, kills: number) => readonly string[];
  /** The text of a table with `count` rows, for a batch of rows. */
  readonly table?: (count: number) => string;
  /** The input has lines that are not sent: twice as many. */
  readonly isPartial?: boolean;
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

const feedbackId = (number: number): string => `0199f3c0-5f3a-7c21-9b6e-${String(number).padStart(12, '0')}`;

/** Feedback that keeps its id, which may be sent again. */
export const feedback: Kind = {
  command: ['feedback', 'replace'],
  line: (number) => ({
    project_id: 'a/b',
    svc_ref: 'svc:///a/b/object/o:v',
    feedback_id: feedbackId(number),
    feedback_type: 'note',
    payload: { number },
    id: feedbackId(number),
  }),
  keyOf: String,
  reply: { id: 'i', created_at: '2026-01-01T00:00:00Z', svc_user_id: 'u', payload: {} },
  isHarmless: true,
};

/** Training jobs, which the job history has too. */
export const jobs: Kind = {
  command: ['train'],
  line: (number) => ({
    model_id: modelId,
    trajectory_groups: [{ trajectories: [JSON.parse(trajectoryText(number % 3, `p${number}`))] }],
  }),
  keyOf: (body) => JSON.parse(body).trajectory_groups[0].trajectories[0].metadata.task,
  reply: { id: modelId },
  isHarmless: false,
};

// Above the integers that a number holds.
const FIRST_DIGITS = 9_007_199_254_740_993n;

// Cells with quotes, line breaks, and more digits than a number has.
const rows: Kind = {
  ...chats,
  command: ['chat', '-m', 'm', '{{text}} of {{digits:json}}', '--id-column', 'digits'],
  table: (count) =>
    Array.from({ length: count }, (_, at) => `"say ""p${at + 1}"",\r\n=x",${FIRST_DIGITS + BigInt(at)}\r\n`).reduce(
      (text, row) => text + row,
      '\ufefftext,digits\r\n',
    ),
};

// Each run asks for more lines than the one before.
const wider = (lines: number, share: number): string => String(Math.ceil((lines * (1 + share)) / 2));

const sample: Kind = { ...rows, flags: (lines, share) => ['--sample', wider(lines, share)], isPartial: true };

const limit: Kind = { ...rows, flags: (lines, share) => ['--limit', wider(lines, share)], isPartial: true };

const REPLY_TOKENS = 7;

/** Rows whose runs stop at a limit of tokens, if they are not killed before. */
const tokens: Kind = {
  ...rows,
  reply: { ...completion, usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: REPLY_TOKENS } },
  flags: (lines, share, kills) =>
    share === 1 ? [] : ['--max-total-tokens', String(Math.ceil(lines / kills) * REPLY_TOKENS)],
};

/** The batches that are killed, by name. */
export const kinds = { chats, calls, feedback, jobs, rows, sample, limit, tokens };

/** A result of a batch. */
interface Entry {
  readonly line: number;
  readonly exit_code: number;
  readonly applied: string;
}

/** The results in `out.jsonl`, in order. */
export function entriesIn(cwd: string): Entry[] {
  const text = readFileSync(join(cwd, 'out.jsonl'), 'utf8');
  return text === ''
    ? []
    : text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
}

/** Writes `in.jsonl` with `count` lines of a kind, and then other lines. */
export function writeInput(cwd: string, count: number, kind = chats, more: readonly string[] = []): void {
  const lines = Array.from({ length: count }, (_, at) => JSON.stringify(kind.line(at + 1)));
  writeFileSync(join(cwd, 'in.jsonl'), `${[...lines, ...more].join('\n')}\n`);
}

// A little more than what remains for each kill.
const LINES_PER_KILL = 1.3;

/** The result of a batch that was killed repeatedly. */
export interface Outcome {
  readonly kills: number;
  /** Runs that ended at a limit of tokens. */
  readonly stops: number;
  /** Lines without a result. */
  readonly lost: number;
  /** Requests that arrived more often than the program declared. */
  readonly undeclared: number;
  /** Lines that it reported as possibly applied. */
  readonly unknown: number;
}

/**
 * Runs a batch of `lines` lines, and kills it with SIGKILL `kills` times, each time when a random number of further requests
 * has arrived, and resumes it; `random` is from 0 to 1. The last run completes, and then `--retry-unknown` finishes every line.
 */
export async function runKilledBatch(kind: Kind, lines: number, kills: number, random: () => number): Promise<Outcome> {
  const cwd = temporaryDirectory();
  const inputLines = kind.isPartial ? 2 * lines : lines;
  const bodies = (): string =>
    Array.from({ length: inputLines }, (_, at) => `${JSON.stringify(kind.line(at + 1))}\n`).join('');
  const inputFlags = kind.table ? ['--rows', 'in.csv'] : ['--batch', 'in.jsonl'];
  writeFileSync(join(cwd, inputFlags[1] ?? ''), kind.table?.(inputLines) ?? bodies());
  let left = Number.POSITIVE_INFINITY;
  let kill = (): void => {};
  const { url, counts } = await countingServer(kind.keyOf, (_, response) => {
    left -= 1;
    if (left <= 0) kill();
    answerJson(response, kind.reply);
  });
  const args = [program, ...kind.command, ...inputFlags, '-o', 'out.jsonl', '--resume'];
  const argsAt = (share: number): readonly string[] => [...args, ...(kind.flags?.(lines, share, kills) ?? [])];
  const env = cleanEnv(cwd, { ...credentials, SVC_BASE_URL: url, SVC_DATA_DIR: join(cwd, 'data') });
  let count = 0;
  let stops = 0;
  while (count < kills) {
    // Some are killed before the first request, most in the middle.
    left = 1 + Math.floor((random() * LINES_PER_KILL * lines) / kills);
    const child = spawn(process.execPath, argsAt(count / kills), { cwd, env });
    kill = () => void child.kill('SIGKILL');
    const { signal, code, stderr } = await waitForExit(child);
    if (signal === 'SIGKILL') count += 1;
    else {
      expect([0, 10], stderr).toContain(code);
      if (!stderr.includes('--max-total-tokens')) break;
      stops += 1;
    }
  }
  left = Number.POSITIVE_INFINITY;
  const { code, stderr } = await waitForExit(spawn(process.execPath, argsAt(1), { cwd, env }));
  const sent = [...counts.values()];
  const keys = counts.size;
  const entries: { line: number; id?: string; exit_code: number; applied: string }[] = readFileSync(
    join(cwd, 'out.jsonl'),
    'utf8',
  )
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const unknown = entries.filter(({ applied }) => applied === 'unknown');
  expect(code, stderr).toBe(unknown.length > 0 ? 10 : 0);
  expect(stderr).toContain(
    `${lines} lines: ${lines - unknown.length} done, 0 failed, ${unknown.length} unknown, 0 not sent`,
  );
  const numbers = entries.map(({ line }) => line);
  expect(numbers).toEqual(
    kind.isPartial ? [...new Set(numbers)].sort((a, b) => a - b) : Array.from({ length: lines }, (_, at) => at + 1),
  );
  if (kind.table)
    expect(entries.map(({ id }) => id)).toEqual(numbers.map((line) => String(FIRST_DIGITS + BigInt(line - 1))));
  const again = await waitForExit(spawn(process.execPath, [...argsAt(1), '--retry-unknown'], { cwd, env }));
  expect(again.code, again.stderr).toBe(0);
  expect(again.stderr).toContain(`${lines} lines: ${lines} done, 0 failed, 0 unknown, 0 not sent`);
  // No line beside those that were asked for.
  if (!kind.isHarmless) expect(counts.size).toBe(lines);
  return {
    kills: count,
    stops,
    lost: lines - new Set(numbers).size,
    undeclared: kind.isHarmless ? keys - lines : sent.reduce((sum, times) => sum + times - 1, 0),
    unknown: unknown.length,
  };
}
