import type { AppliedState } from '../../errors.ts';
import { writeJson } from '../../json/write-json.ts';

/** A training job that is about to leave. The same digest, target and model are the same job. */
export interface TrainingJob {
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
export interface JobSender {
  readonly key: string;
  readonly pid: number;
  readonly host: string;
}

/** What became of a job. */
export interface JobOutcome {
  readonly applied: AppliedState;
  /** That of the process. */
  readonly exitCode: number;
  /** The id the service gave the job. */
  readonly id: string | undefined;
}

/** The line that says, before a job leaves, that it will; `at` is in milliseconds since 1970. */
export function formatStartLine({ model, ...job }: TrainingJob, { key, pid, host }: JobSender, at: number): string {
  const started_at = new Date(at).toISOString();
  return `${writeJson({ entry: key, started_at, ...job, model_id: model ?? null, pid, host })}\n`;
}

/** The line that says what became of it. Of several for one job the last counts. */
export function formatEndLine({ applied, exitCode, id }: JobOutcome, { key }: JobSender, at: number): string {
  const ended_at = new Date(at).toISOString();
  return `${writeJson({ entry: key, ended_at, applied, exit_code: exitCode, id: id ?? null })}\n`;
}
