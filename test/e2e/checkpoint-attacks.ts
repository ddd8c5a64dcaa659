import { hash } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { svc } from '../support/svc.ts';

/** The results of checkpoints that were attacked and then resumed. */
export interface AttackOutcome {
  readonly cases: number;
  /** Resumed runs that ended with exit code 12 or 13. */
  refused: number;
  /** Prompts that were applied twice although no flag allowed it. */
  sentTwice: number;
  /** Results beside an input line that they do not belong to. */
  onWrongLine: number;
  /** Exit codes other than 0, 10, 12 and 13. */
  unexpected: number;
}

type Lines = (string | undefined)[];

interface Scene {
  readonly cwd: string;
  readonly lines: Lines;
  readonly pick: (count: number) => number;
  readonly fresh: () => string;
}

const attacks: readonly ((scene: Scene) => void)[] = [
  // Edits, deletes, swaps and appends lines of the input.
  ({ lines, pick, fresh }) => void lines.splice(pick(lines.length), 1, fresh()),
  ({ lines, pick }) => void lines.splice(pick(lines.length), 1),
  ({ lines, pick }) => {
    const [left, right] = [pick(lines.length), pick(lines.length)];
    [lines[left], lines[right]] = [lines[right], lines[left]];
  },
  ({ lines, fresh }) => void lines.push(fresh(), fresh()),
  // Renames the output, or loses its journal.
  ({ cwd }) => rmSync(join(cwd, 'out.jsonl.journal'), { force: true }),
  ({ cwd }) => {
    renameSync(join(cwd, 'out.jsonl'), join(cwd, 'moved.jsonl'));
    renameSync(join(cwd, 'moved.jsonl'), join(cwd, 'out.jsonl'));
    rmSync(join(cwd, 'out.jsonl.journal'), { force: true });
  },
  ({ cwd }) => {
    const second = join(cwd, 'second.jsonl');
    if (!existsSync(second)) linkSync(join(cwd, 'out.jsonl'), second);
  },
  // Flips a bit of the output or its journal, deletes, doubles or reverses result lines.
  ({ cwd, pick }) => flipBit(join(cwd, 'out.jsonl'), pick),
  ({ cwd, pick }) => flipBit(join(cwd, 'out.jsonl.journal'), pick),
  // With every result and the journal gone, nothing of the batch would be left.
  ({ cwd, pick }) => editOutput(cwd, (results) => results.toSpliced(pick(results.length), results.length > 1 ? 1 : 0)),
  ({ cwd }) => editOutput(cwd, (results) => [...results].reverse()),
  ({ cwd, pick }) => editOutput(cwd, (results) => [...results, ...results.slice(pick(results.length))]),
];

/** Attacks a number of checkpoints, one to three times each, and resumes them; `random` is from 0 to 1. */
export async function attackCheckpoints(cases: number, random: () => number): Promise<AttackOutcome> {
  const outcome: AttackOutcome = { cases, refused: 0, sentTwice: 0, onWrongLine: 0, unexpected: 0 };
  const applied = new Map<string, number>();
  const pick = (count: number): number => Math.floor(random() * count);
  const { url } = await countingServer(
    (body) => JSON.parse(body).messages.at(-1).content,
    ({ key, count }, response) => {
      // One in six is rejected once, one in eight is lost after it was applied.
      const fate = count > 1 ? 2 : pick(24);
      if (fate % 6 === 1) return answerJson(response, { detail: 'no' }, 400);
      applied.set(key, (applied.get(key) ?? 0) + 1);
      if (fate % 8 === 3) return void response.destroy();
      answerJson(response, { model: 'm', choices: [{ index: 0, message: { content: key }, finish_reason: 'stop' }] });
    },
  );
  let promptCount = 0;
  // Prompts that differ in many characters: a flipped bit does not make one of another.
  const fresh = (): string => hash('sha256', `prompt ${promptCount++}`, 'hex');
  for (let at = 0; at < cases; at += 1) {
    const cwd = await mkdtemp(join(tmpdir(), 'svc-attack-'));
    const lines: Lines = Array.from({ length: 4 + pick(9) }, fresh);
    const save = (): void =>
      writeFileSync(join(cwd, 'in.jsonl'), lines.map((content) => `${chatLine(content)}\n`).join(''));
    const args = ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--retries', '0'];
    const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
    save();
    await svc([...args, '--concurrency', `${1 + pick(4)}`, ...(pick(2) ? ['--fail-fast'] : [])], { cwd, env });
    for (let round = pick(3); round >= 0; round -= 1) attacks[pick(attacks.length)]?.({ cwd, lines, pick, fresh });
    save();
    const { code } = await svc([...args, '--resume'], { cwd, env });
    if (code === 12 || code === 13) outcome.refused += 1;
    else if (code !== 0 && code !== 10) outcome.unexpected += 1;
    else outcome.onWrongLine += wrongResults(cwd, lines, (text) => applied.has(text));
    await rm(cwd, { recursive: true });
  }
  outcome.sentTwice = [...applied.values()].filter((count) => count > 1).length;
  return outcome;
}

// A result on a wrong line has the response of another line, or the digest of another input.
function wrongResults(cwd: string, lines: Lines, isPrompt: (text: string) => boolean): number {
  return readResults(cwd)
    .map((result) => JSON.parse(result))
    .filter(({ line, response, checkpoint }) => {
      const own = lines[line - 1] ?? '';
      const text = response?.choices?.[0]?.message?.content ?? own;
      return (text !== own && isPrompt(text)) || checkpoint.input !== digestOf(chatLine(own));
    }).length;
}

function chatLine(content: string | undefined): string {
  return JSON.stringify({ messages: [{ role: 'user', content }] });
}

function digestOf(line: string): string {
  return hash('sha256', line, 'hex').slice(0, 16);
}

function readResults(cwd: string): string[] {
  return readFileSync(join(cwd, 'out.jsonl'), 'utf8').split('\n').filter(Boolean);
}

function editOutput(cwd: string, change: (results: string[]) => string[]): void {
  writeFileSync(
    join(cwd, 'out.jsonl'),
    change(readResults(cwd))
      .map((result) => `${result}\n`)
      .join(''),
  );
}

function flipBit(path: string, pick: (count: number) => number): void {
  if (!existsSync(path)) return;
  const bytes = readFileSync(path);
  if (bytes.length === 0) return;
  const at = pick(bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << pick(8));
  writeFileSync(path, bytes);
}
