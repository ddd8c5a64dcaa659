import type { AppliedState } from '../../errors.ts';
import { writeJson } from '../../json/write-json.ts';

/** A training job about to be sent. Jobs with the same digest, target and model are the same job. */
export interface TrainingJob {
  /** SHA-256 of the body, in hexadecimal. */
  readonly digest: string;
  /** The URL it is sent to, without userinfo; `local` for the local service. */
  readonly target: string;
  readonly model: string | undefined;
  /** Files as given on the command line. */
  readonly files: readonly string[];
  readonly bytes: number;
  readonly groups: number;
  readonly trajectories: number;
}

/** The process that sends a job, and the key of the job in the history. */
export interface JobSender {
  readonly key: string;
  readonly pid: number;
  readonly host: string;
}

/** The outcome of a job. */
export interface JobOutcome {
  readonly applied: AppliedState;
  /** Exit code of the process. */
  readonly exitCode: number;
  /** The job id from the response. */
  readonly id: string | undefined;
}

/** The line written before a job is sent; `at` is in milliseconds since 1970. */
export function formatStartLine({ model, ...job }: TrainingJob, { key, pid, host }: JobSender, at: number): string {
  const started_at = new Date(at).toISOString();
  return `${writeJson({ entry: key, started_at, ...job, model_id: model ?? null, pid, host })}\n`;
}

/** The line with the outcome of a job. Of several for one job, the last counts. */
export function formatEndLine({ applied, exitCode, id }: JobOutcome, { key }: JobSender, at: number): string {
  const ended_at = new Date(at).toISOString();
  return `${writeJson({ entry: key, ended_at, applied, exit_code: exitCode, id: id ?? null })}\n`;
}
