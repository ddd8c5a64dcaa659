import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../errors.ts';
import { describeFileError } from '../files/file-errors.ts';
import { writeJson } from '../json/write-json.ts';
import type { Runtime } from '../runtime.ts';
import type { TracedCall } from './call-record.ts';

/** How a traced command ended. */
export interface CallEnd {
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** Milliseconds since 1970. */
  readonly endedAtMs: number;
  /** The service, or the spool, has the record. */
  readonly isSent: boolean;
}

/** Appends a JSON line about a traced command to a file (mode 0600 if new). Throws Failure `local` if it cannot be written. */
export async function appendCallLog(
  path: string,
  { trace, opName, startedAt }: TracedCall,
  { exit_code, signal, endedAtMs, isSent }: CallEnd,
  { cwd }: Pick<Runtime, 'cwd'>,
): Promise<void> {
  const line = writeJson({
    trace_id: trace.traceId,
    id: trace.callId,
    ...(trace.parentId ? { parent_id: trace.parentId } : {}),
    op_name: opName,
    started_at: startedAt,
    ended_at: new Date(endedAtMs).toISOString(),
    exit_code,
    signal,
    sent: isSent,
  });
  try {
    const file = await open(resolve(cwd, path), 'a', 0o600);
    await file.appendFile(`${line}\n`).finally(() => file.close());
  } catch (error) {
    throw new Failure('local', `could not write ${path}: ${describeFileError(error)}`);
  }
}
