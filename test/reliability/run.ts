import { expect } from 'vitest';
import { timeLimits } from '../../src/http/time-limits.ts';
import type { Runtime } from '../../src/runtime.ts';
import { after } from '../support/clock.ts';
import type { Fault, FaultServer } from '../support/faults.ts';
import { svc } from '../support/svc.ts';
import type { Effect } from './faults.ts';

/** An operation as it is called, and the effect of a retry. */
export interface Called {
  readonly name: string;
  readonly args: readonly string[];
  readonly effect: Effect;
  /** Its body is sent in chunks: a connection that ends early may receive only part of it. */
  readonly isStreamed?: true;
}

/** The outcome of a request as the program reported it. */
export interface Verdict {
  readonly code: number;
  readonly applied: 'no' | 'yes' | 'unknown';
  readonly attempts: number;
  readonly stderr: string;
}

const feedback = ['--project-id', 'a/b', '--feedback-type', 'note', '--payload', '{"n":1}'];
const feedbackId = '01890f4e-0000-7000-8000-000000000001';
const svcRef = 'svc:///a/b/call/01890f4e-0000-7000-8000-000000000002';
const groups = new URL('../demo/groups.jsonl', import.meta.url).pathname;

/** The five operations, replace with a stable id and without. */
export const operations: readonly Called[] = [
  { name: 'feedback schema', args: ['feedback', 'schema', '--project-id', 'a/b', '--since', '1d'], effect: 'read' },
  { name: 'call start', args: ['call', 'start', '--project-id', 'a/b', '--op-name', 'x'], effect: 'keyed' },
  {
    name: 'feedback replace --keep-id',
    args: ['feedback', 'replace', ...feedback, '--feedback-id', feedbackId, '--svc-ref', svcRef, '--keep-id'],
    effect: 'keyed',
  },
  {
    name: 'feedback replace',
    args: ['feedback', 'replace', ...feedback, '--feedback-id', feedbackId, '--svc-ref', svcRef],
    effect: 'once',
  },
  { name: 'chat', args: ['chat', 'hi', '-m', 'm', '--no-stdin'], effect: 'paid' },
  {
    name: 'train',
    args: ['train', '--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05', groups],
    effect: 'once',
    isStreamed: true,
  },
];

/**
 * Runs an operation against a server and reads the reported outcome from stderr. Retry delays are short, and so are time
 * limits if the fault is silence; otherwise, a busy machine may take its time.
 */
export async function run({ args }: Called, url: string, retries: number, { ends }: Fault): Promise<Verdict> {
  const flags = ['--retries', String(retries), '--timeout', '1h', '--error-format', 'json'];
  const { code, stderr } = await svc([...args, ...flags], {
    env: { SVC_BASE_URL: url, SVC_TOKEN: 'tok-en-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1' },
    runtime: { after: hurried(ends === 'never' ? 200 : 20_000) },
  });
  if (code === 0) return { code, applied: 'yes', attempts: 0, stderr };
  const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  expect(error.exit_code).toBe(code);
  return { code, applied: error.applied, attempts: error.attempts, stderr };
}

/** Compares a reported outcome with what the server applied. That of a read is the outcome of its last attempt (docs/internals/contract.md, section 6). */
export function judge(
  { applied: said, attempts, stderr }: Verdict,
  { applied, isLastApplied, connections }: Pick<FaultServer, 'applied' | 'isLastApplied' | 'connections'>,
  effect: Effect,
): void {
  // On a busy machine, the last attempt may end before its connection reaches the server.
  if (said === 'no' && effect === 'read') expect(connections() >= attempts && isLastApplied(), stderr).toBe(false);
  else if (said === 'no') expect(applied, stderr).toEqual([]);
  if (said === 'yes') expect(applied.length, stderr).toBeGreaterThan(0);
  if (effect === 'paid' || effect === 'once') expect(applied.length, stderr).toBeLessThanOrEqual(1);
  // The same bytes again are the same record.
  expect(new Set(applied).size, stderr).toBeLessThanOrEqual(1);
}

// Timers of an hour, and of 10 s to connect, stay long, because the machine may be busy. Other timers are limits of silence, or waits.
function hurried(silence: number): Runtime['after'] {
  return (milliseconds, action) => {
    const isSilence = milliseconds === timeLimits.firstByte || milliseconds === timeLimits.idle;
    const isLong = milliseconds > 60_000 || milliseconds === timeLimits.connect;
    const short = isSilence ? silence : isLong ? 60_000 : milliseconds / 50;
    return after(short, action);
  };
}
