import { constants, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { sendJson } from '../../client/send.ts';
import { resolveSettings, type Settings } from '../../client/settings.ts';
import type { Invocation, ProcessEnd } from '../../command.ts';
import { parseDurationOrZeroMs } from '../../config/parse-duration.ts';
import type { Context } from '../../context.ts';
import { Failure, type StopSignal, toFailure, usageFailure } from '../../errors.ts';
import { uuidV5 } from '../../fields/uuid.ts';
import { describeFileError } from '../../files/file-errors.ts';
import { type FlagValues, getArrayFlag, getStringFlag, isFlagOn } from '../../flag.ts';
import { writeJson } from '../../json/write-json.ts';
import { feedbackReplaceOperation } from '../../operations/feedback-replace.ts';
import { issueText } from '../../output/failure-text.ts';
import type { TracedCall } from '../../trace/call-record.ts';
import { runChild } from '../../trace/run-child.ts';
import { prepareCommand, prepareRecord, type TracedCommand, toRecordFailure } from './record-call.ts';

const DEFAULT_GRACE = '5s';
const MAX_REASON_CHARS = 400;
const RECORD_SUBJECT = 'the call was not recorded';
const RECORD_AND_EXIT_SUBJECT = 'the call and its exit code were not recorded';

/**
 * Runs a command and records it as a call. Returns how the command ended, whatever happens to the record, except with
 * `--require`, which throws the Failure of the record and does not start the command. Throws usage for wrong flags.
 */
export async function runCallRun({ args, flags }: Invocation, context: Context): Promise<ProcessEnd> {
  const { runtime, report } = context;
  requireConsistentFlags(args, flags);
  const graceMs = parseDurationOrZeroMs('--grace', getStringFlag(flags, 'grace') ?? DEFAULT_GRACE);
  const command = await prepareCommand(args, flags, context);
  context.signal.throwIfAborted();
  const controller = new AbortController();
  const signal = AbortSignal.any([context.signal, controller.signal]);
  const prepared = prepareRecord(command, { ...context, signal });
  const recorded = prepared.then((send) => send());
  // A failure is reported after the command.
  recorded.catch(() => {});
  // The command may end svc at once.
  if (flags.has('spool')) await prepared.catch(() => {});
  const isRequired = isFlagOn(flags, 'require');
  if (isRequired) await recorded;
  requireNoSignal(context, isRequired);
  const running = runChild(args, command.childEnv, runtime);
  // The command receives them from here on: its listeners come before these are removed, so that none is lost.
  context.ignoreStopSignals();
  const giveUp = (reason: string): void => controller.abort(new Failure('unknown', reason));
  // After the command a signal ends the wait for the record, and then svc.
  let hasEnded = false;
  let interruption: StopSignal | undefined;
  const release = runtime.onSignal((name) => {
    if (!hasEnded) return;
    interruption ??= name;
    giveUp('interrupted before the response arrived');
  });
  const { end, startError } = await running;
  hasEnded = true;
  const endedAtMs = runtime.now();
  if (startError) await report.warn(`could not run ${command.program || '""'}: ${startError}`);
  const cancelGrace = runtime.after(graceMs, () =>
    giveUp(`no response within ${graceMs / 1000} s after the command ended`),
  );
  try {
    // A service that is down is reported once.
    const failure = await reportAction(recorded, context, ({ facts: { status } }) =>
      status === undefined && flags.has('exit-feedback') ? RECORD_AND_EXIT_SUBJECT : RECORD_SUBJECT,
    );
    const isReachable = !failure || failure.facts.status !== undefined;
    const isSent = !failure && flags.get('spool') !== 'only';
    await recordEnd(command, { end, endedAtMs, isSent }, isReachable, { ...context, signal: controller.signal });
  } finally {
    cancelGrace();
    release();
  }
  return interruption ? { signal: interruption } : end;
}

function requireConsistentFlags(args: readonly string[], flags: FlagValues): void {
  const [program] = args;
  if (program === undefined)
    throw usageFailure('svc call run needs a command', 'write it after --: svc call run -- make test');
  // A value is not repeated: it may be a secret.
  const notName = getArrayFlag(flags, 'env').find((name) => !/^[^=]+$/.test(name));
  if (notName !== undefined)
    throw usageFailure('--env takes the name of a variable', `write: --env ${notName.split('=')[0] || 'NAME'}`);
  if (flags.get('log-file') === '-')
    throw usageFailure('--log-file writes a file, not stdout', 'name a file, such as calls.jsonl');
  const conflict = ['require', 'exit-feedback'].find((name) => flags.has(name));
  if (flags.get('spool') === 'only' && conflict !== undefined)
    throw usageFailure(`--${conflict} cannot be combined with --spool=only`, 'remove one of them');
}

// After a signal the command does not start, even if the service has recorded the call.
function requireNoSignal({ signal }: Context, isConfirmed: boolean): void {
  if (!signal.aborted) return;
  const { code } = toFailure(signal.reason);
  throw new Failure(code, 'interrupted before the command started', { applied: isConfirmed ? 'yes' : 'unknown' });
}

// Each step is reported by itself: the call is recorded even if its end is not.
async function recordEnd(
  command: TracedCommand,
  callEnd: CallEnd,
  isReachable: boolean,
  context: Context,
): Promise<void> {
  const { record, settings, flags } = command;
  const logFile = getStringFlag(flags, 'log-file');
  if (logFile !== undefined) {
    const appended = appendCallLog(logFile, record, callEnd, context.runtime.cwd).then(() => []);
    await reportAction(appended, context, () => `the end of the call was not written to ${logFile}`);
  }
  if (flags.has('exit-feedback') && isReachable && !(settings instanceof Failure)) {
    const sent = sendExitFeedback({ ...command, settings }, callEnd, context);
    await reportAction(sent, context, () => 'the feedback on the exit code was not recorded');
  }
}

// Prints the warnings of an action or its failure, and returns the failure.
async function reportAction(
  action: Promise<readonly string[]>,
  { report }: Context,
  subjectOf: (failure: Failure) => string,
): Promise<Failure | undefined> {
  const outcome = await action.catch(toFailure);
  if (!(outcome instanceof Failure)) {
    for (const warning of outcome) await report.warn(warning);
    return undefined;
  }
  const { hint, applied = outcome.code === 'unknown' ? 'unknown' : 'no' } = outcome.facts;
  // Neither a lost response nor an invalid one says whether the service has the record.
  const subject =
    applied === 'no' ? subjectOf(outcome) : subjectOf(outcome).replace(/\b(was|were) not\b/, 'may not have been');
  await report.warn(`${subject}: ${unsentReason(outcome)}${hint ? `; ${hint}` : ''}`);
  return outcome;
}

// The service's message about a rejected request names what the user has to fix.
function unsentReason({ message, facts: { status, summary, issues = [] } }: Failure): string {
  if (status === undefined) return summary ?? message;
  const [issue] = issues;
  const others = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  const text = issue ? `${message}: ${issueText(issue)}${others}` : message;
  // One line, whatever the service says.
  return text.replace(/\s+/g, ' ').slice(0, MAX_REASON_CHARS);
}

interface CallEnd {
  readonly end: ProcessEnd;
  /** Milliseconds since 1970. */
  readonly endedAtMs: number;
  /** The service confirmed the record. */
  readonly isSent: boolean;
}

// The namespace of the ids of the feedback; a random UUID that never changes.
const EXIT_FEEDBACK_NAMESPACE = '0b1f8a52-6d0c-4f3e-9a75-31d7b1b6c9e4';

// The end of a command does not wait for the reader of a FIFO.
const LOG_OPEN_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);

/**
 * Appends a JSON line about a traced command to a file (mode 0600 if new) and never waits. Throws Failure `local_file`, with the
 * reason alone as its message, if it cannot be written.
 */
async function appendCallLog(
  path: string,
  { trace_id, id, parent_id, op_name, started_at }: TracedCall,
  { end, endedAtMs, isSent }: CallEnd,
  cwd: string,
): Promise<void> {
  const ended_at = new Date(endedAtMs).toISOString();
  const line = { trace_id, id, parent_id, op_name, started_at, ended_at, ...exitOf(end), sent: isSent };
  try {
    const file = await open(resolve(cwd, path), LOG_OPEN_FLAGS, 0o600);
    await file.appendFile(`${writeJson(line)}\n`).finally(() => file.close());
  } catch (error) {
    throw new Failure('local_file', describeFileError(error));
  }
}

/**
 * Replaces the feedback of a call about its exit. Its id is derived from the call, so a retry is safe. Returns the warnings
 * of the response, and throws the Failure of feedback that was not confirmed.
 */
async function sendExitFeedback(
  { program, record, flags }: TracedCommand & { readonly settings: Settings },
  { end, endedAtMs }: CallEnd,
  context: Context,
): Promise<readonly string[]> {
  const { project_id = '', id: callId, started_at } = record;
  const type = getStringFlag(flags, 'exit-feedback') ?? 'exit';
  const id = uuidV5(EXIT_FEEDBACK_NAMESPACE, `${callId}/${type}`);
  const command = context.report.redact(program);
  const payload = { command, ...exitOf(end), duration_ms: endedAtMs - Date.parse(started_at) };
  const svc_ref = `svc:///${project_id}/call/${callId}`;
  const body = { project_id, feedback_id: id, id, feedback_type: type, svc_ref, payload };
  // The call before it reported the same.
  const report = { ...context.report, note: async () => {} };
  const settings = await resolveSettings(feedbackReplaceOperation, flags, { ...context, report });
  const { warnings } = await sendJson(writeJson(body), settings, context).catch((error: unknown) => {
    throw toRecordFailure(error, flags);
  });
  return warnings;
}

function exitOf(end: ProcessEnd): { exit_code: number | null; signal: string | null } {
  return typeof end === 'number' ? { exit_code: end, signal: null } : { exit_code: null, signal: end.signal };
}
