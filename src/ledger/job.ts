import type { Applied } from '../errors.ts';
import { writeJson } from '../json/write.ts';

/** A training job that is about to leave. The same digest, target and model are the same job. */
export interface Job {
  /** SHA-256 of the body, in hexadecimal. */
  readonly digest: string;
  /** The address it goes to, without userinfo; `local` is the embedded service. */
  readonly target: string;
  readonly model: string | undefined;
  /** As they were given. */
  readonly files: readonly string[];
  readonly bytes: number;
  readonly groups: number;
  readonly trajectories: number;
}

/** Who sends a job, and under which key the ledger keeps it. */
export interface Sender {
  readonly key: string;
  readonly pid: number;
  readonly host: string;
}

/** What became of a job. */
export interface Outcome {
  readonly applied: Applied;
  /** That of the process. */
  readonly exitCode: number;
  /** The id the service gave the job. */
  readonly id: string | undefined;
}

/** The line that says, before a job leaves, that it will; `at` is in milliseconds since 1970. */
export function startLine({ model, ...job }: Job, { key, pid, host }: Sender, at: number): string {
  const started_at = new Date(at).toISOString();
  return `${writeJson({ entry: key, started_at, ...job, model_id: model ?? null, pid, host })}\n`;
}

/** The line that says what became of it. Of several for one job the last counts. */
export function endLine({ applied, exitCode, id }: Outcome, { key }: Sender, at: number): string {
  const ended_at = new Date(at).toISOString();
  return `${writeJson({ entry: key, ended_at, applied, exit_code: exitCode, id: id ?? null })}\n`;
}
