import { constants, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readAuthorization } from '../../client/connection.ts';
import type { ReadOutcome } from '../../client/read-response.ts';
import { resolveSettings, type Settings, settingsOfOperation } from '../../client/resolve-settings.ts';
import { sendJson } from '../../client/send.ts';
import type { Invocation, ProcessEnd } from '../../command.ts';
import { traceBaseUrl } from '../../config/destination.ts';
import { dataDirectory } from '../../config/environment.ts';
import { parseDurationOrZeroMs } from '../../config/setting-kinds.ts';
import { environmentSetting, type ServiceOptions } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { Failure, type FailureCode, type StopSignal, toFailure, usageFailure } from '../../errors.ts';
import { closestMatches } from '../../fields/closest-match.ts';
import { uuidV5 } from '../../fields/uuid.ts';
import { describeFileError, fileFailure } from '../../files/file-errors.ts';
import type { OptionsOfList } from '../../flag.ts';
import { writeJson } from '../../json/write-json.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { feedbackReplaceOperation } from '../../operations/feedback-replace.ts';
import { issueText } from '../../output/failure-text.ts';
import { createArgumentRedactor } from '../../output/redaction.ts';
import type { Reporter } from '../../output/reporter.ts';
import { shellWord } from '../../output/shell-quote.ts';
import type { Runtime } from '../../runtime.ts';
import { collectCallAttributes, operationName, recordedInputs, type TracedCall } from '../../trace/call-record.ts';
import { runChild } from '../../trace/run-child.ts';
import { flushCommand, removeSpooledCall, spoolCall, spoolDirectory } from '../../trace/spool.ts';
import { createTraceContext, readParent, traceEnvironment } from '../../trace/trace-context.ts';
import type { callRunFlags } from '../definitions/command-flags.ts';

const DEFAULT_GRACE = '5s';
const MAX_REASON_CHARS = 400;

type CallRunOptions = ServiceOptions & OptionsOfList<typeof callRunFlags>;

/** Returns how the command ended, whatever happens to the record; with `--require`, its Failure is thrown before the command starts. */
export async function runCallRun({ args, options }: Invocation<CallRunOptions>, context: Context): Promise<ProcessEnd> {
  const { runtime, report } = context;
  requireConsistentFlags(args, options);
  for (const name of (options.env ?? []).filter((one) => runtime.env[one] === undefined)) {
    const [near] = closestMatches(name, Object.keys(runtime.env));
    const hint = near ? `; did you mean --env ${near}?` : /[*?]/.test(name) ? '; write the name of each variable' : '';
    await report.warn(`--env ${name}: this variable is not set, so it is not recorded${hint}`);
  }
  const graceMs = parseDurationOrZeroMs('--grace', options.grace ?? DEFAULT_GRACE);
  const command = await prepareCommand(args, options, context);
  context.signal.throwIfAborted();
  const controller = new AbortController();
  const signal = AbortSignal.any([context.signal, controller.signal]);
  const prepared = prepareRecord(command, { ...context, signal });
  const recorded = prepared.then((send) => send());
  // A failure is reported after the command.
  recorded.catch(() => {});
  // The command may end svc at once.
  if (options.spool !== undefined) await prepared.catch(() => {});
  const isRequired = options.require === true;
  if (isRequired) await recorded;
  // After a signal the command does not start, even if the service has recorded the call.
  if (context.signal.aborted) {
    const { code } = toFailure(context.signal.reason);
    throw new Failure(code, 'interrupted before the command started', { applied: isRequired ? 'yes' : 'unknown' });
  }
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
  if (startError)
    await report.warn(`could not run ${command.program || '""'}: ${startError}${startHint(args, startError)}`);
  const cancelGrace = runtime.after(graceMs, () =>
    giveUp(`no response within ${graceMs / 1000} s after the command ended`),
  );
  try {
    await recordEnd(command, recorded, end, endedAtMs, { ...context, signal: controller.signal });
  } finally {
    cancelGrace();
    release();
  }
  return interruption ? { signal: interruption } : end;
}

// Each step is reported by itself: the call is recorded even if its end is not.
async function recordEnd(
  command: TracedCommand,
  recorded: Promise<readonly string[]>,
  end: ProcessEnd,
  endedAtMs: number,
  context: Context,
): Promise<void> {
  const { record, settings, options } = command;
  const { runtime, report } = context;
  const hasFeedback = options.exitFeedback !== undefined;
  // A service that is down is reported once.
  const both = hasFeedback ? 'the call and its exit code were not recorded' : undefined;
  const failure = await reportAction(recorded, report, 'the call was not recorded', both);
  const logFile = options.logFile;
  if (logFile !== undefined) {
    const { trace_id, id, parent_id, op_name, started_at } = record;
    const ended_at = new Date(endedAtMs).toISOString();
    const sent = !failure && options.spool !== 'only';
    const line = { trace_id, id, parent_id, op_name, started_at, ended_at, ...exitOf(end), sent };
    const appending = appendCallLog(logFile, runtime.cwd, writeJson(line));
    await reportAction(appending, report, `the end of the call was not written to ${logFile}`);
  }
  const isReachable = !failure || failure.facts.status !== undefined;
  if (!hasFeedback || !isReachable || settings instanceof Failure) return;
  const ofFeedback = settingsOfOperation(feedbackReplaceOperation, settings);
  const sent = sendExitFeedback(command, ofFeedback, end, endedAtMs, context);
  await reportAction(sent, report, 'the feedback on the exit code was not recorded');
}

function requireConsistentFlags(args: readonly string[], options: CallRunOptions): void {
  const [program] = args;
  if (program === undefined)
    throw usageFailure('svc call run needs a command', 'write it after --: svc call run -- make test');
  // A value is not repeated: it may be a secret.
  const notName = (options.env ?? []).find((name) => !/^[^=]+$/.test(name));
  if (notName !== undefined)
    throw usageFailure('--env takes the name of a variable', `write: --env ${notName.split('=')[0] || 'NAME'}`);
  if (options.logFile === '-')
    throw usageFailure('--log-file writes a file, not stdout', 'name a file, such as calls.jsonl');
  const conflict = options.require ? 'require' : options.exitFeedback ? 'exit-feedback' : undefined;
  if (options.spool === 'only' && conflict !== undefined)
    throw usageFailure(`--${conflict} cannot be combined with --spool=only`, 'remove one of them');
}

interface TracedCommand {
  readonly program: string;
  readonly record: TracedCall;
  readonly settings: Settings | Failure;
  readonly childEnv: Runtime['env'];
  readonly options: CallRunOptions;
}

// Makes the record and the environment of a command. Throws usage for wrong flags, and the reason of an abort.
async function prepareCommand(
  words: readonly string[],
  options: CallRunOptions,
  context: Context,
): Promise<TracedCommand> {
  const { runtime, signal } = context;
  const isExact = options.exact === true;
  const trace = createTraceContext(isExact ? undefined : await readParent(options.noParent, context), runtime);
  const settings = await resolveSettings(callStartOperation, options, context).catch((error: unknown) => {
    const failure = toFailure(error);
    // A file that cannot be used, such as the profiles, keeps only the record from the service.
    if (failure.code === 'usage' || signal.aborted) throw error;
    return failure;
  });
  const isUnresolved = settings instanceof Failure;
  const { password, token } = isUnresolved ? {} : settings.profile.profile;
  const credentials = [password, token].flatMap((secret) => secret ?? []);
  const redactor = createArgumentRedactor(runtime.env, credentials);
  const redactedWords = redactor.redactArguments(words);
  const defaultProject = isUnresolved ? environmentSetting('project_id', runtime.env) : settings.defaults.project.text;
  const projectId = options.projectId || defaultProject || undefined;
  const [program = ''] = redactedWords;
  const record = {
    project_id: projectId,
    id: trace.callId,
    trace_id: trace.traceId,
    parent_id: trace.parentId,
    op_name: operationName(options.opName, program),
    started_at: new Date(runtime.now()).toISOString(),
    inputs: recordedInputs(options.inputs, redactedWords),
    attributes: isExact ? {} : await collectCallAttributes(runtime, options.env ?? [], redactor),
  };
  const childEnv = { ...runtime.env, ...traceEnvironment(trace, projectId) };
  return { program, record, settings, childEnv, options };
}

// Writes the record of a command to the spool if asked to: it is durable when this returns. Returns the function that sends it,
// which returns warnings and throws the Failure of a record that was not confirmed.
async function prepareRecord({ program, record, settings, options }: TracedCommand, context: Context) {
  if (settings instanceof Failure) throw settings;
  if (!record.project_id)
    throw usageFailure(
      'the call has no project',
      'give --project-id, or set SVC_PROJECT_ID or project_id of the profile',
    );
  const spool = options.spool;
  // A secret that a program prints is known only after that; no record may have it. Other records do not wait for programs.
  const { credential_command, password_key, token_key } = settings.profile.profile;
  const isSecretLate = [credential_command, password_key, token_key].some((source) => source !== undefined);
  const isSecretNeeded = !isSecretLate || options.inputs === 'argv' || options.env !== undefined;
  const authorizing =
    isSecretNeeded || spool !== 'only' ? readAuthorization(settings, context).catch(toFailure) : undefined;
  const authorization = isSecretNeeded ? await authorizing : undefined;
  const isUnread = isSecretLate && authorization instanceof Failure;
  // The arguments and attributes may hold the secret that could not be read.
  const how = options.inputs === 'none' ? 'none' : 'name';
  const start = isUnread
    ? { ...record, inputs: recordedInputs(how, [program]), attributes: {} }
    : redactRecord(record, context.report.redact);
  const body = writeJson({ start });
  const call = { baseUrl: traceBaseUrl(settings.destination), body };
  // A call that cannot be spooled can still be sent.
  const directory = spoolDirectory(dataDirectory(context.runtime));
  const file = spool ? await spoolCall(directory, record.id, call, context.runtime).catch(toFailure) : undefined;
  if (spool === 'only') {
    if (file instanceof Failure) throw file;
    return async () =>
      isUnread ? [`the arguments and attributes of the command were not recorded: ${authorization.message}`] : [];
  }
  return async () => {
    const read = await authorizing;
    const sending = read instanceof Failure ? Promise.reject(read) : sendJson(body, settings, context, read);
    return confirmRecord(sending, file, options);
  };
}

// Ids and times stay as they are, whatever the secret is.
function redactRecord(record: TracedCall, redact: (text: string) => string): TracedCall {
  const { op_name, inputs, attributes } = record;
  const redactValue = (_: string, value: unknown): unknown => (typeof value === 'string' ? redact(value) : value);
  return { ...record, ...JSON.parse(JSON.stringify({ op_name, inputs, attributes }), redactValue) };
}

// The warnings of a record that was sent. `file` is its copy in the spool, or the reason why there is none.
async function confirmRecord(
  sending: Promise<ReadOutcome>,
  file: string | Failure | undefined,
  options: CallRunOptions,
) {
  const { warnings } = await sending.catch((error: unknown) => {
    const failure = toRecordFailure(error, options);
    if (!file) throw failure;
    const hint =
      file instanceof Failure
        ? `it was not spooled: ${file.message}`
        : `it stays in the spool; to send it, run: ${flushCommand(options)}`;
    throw failure.with({ hint });
  });
  if (file instanceof Failure) return [`the call was sent, but not spooled: ${file.message}`, ...warnings];
  if (file === undefined) return warnings;
  // A response for another request confirms nothing.
  if (warnings.length > 0)
    return [...warnings, `the call stays in the spool; to send it again, run: ${flushCommand(options)}`];
  const removal = await removeSpooledCall(file).catch(toFailure);
  return removal ? [`the call was sent, but stays in the spool: ${removal.message}`] : [];
}

// Their hints are about credentials, the base URL and files; those of others, and after a 422, about running svc again.
const SETUP_CODES: readonly FailureCode[] = [
  'usage',
  'credentials',
  'refused',
  'unreachable',
  'local_file',
  'safety_check',
];

// The failure of a request that svc made from a command: it names fields by their paths, because call run has no flags for
// them, and gives no hint to run svc again, because that would run the command again, with other ids.
function toRecordFailure(error: unknown, options: CallRunOptions): Failure {
  const failure = toFailure(error);
  const { code, facts } = failure;
  const isHintKept =
    (SETUP_CODES.includes(code) && facts.status !== 422) || (code === 'rate_limited' && options.require === true);
  const issues = facts.issues?.map((issue) => ({ ...issue, at: undefined }));
  return failure.with({ issues, hint: isHintKept ? facts.hint : undefined });
}

async function reportAction(action: Promise<readonly string[]>, report: Reporter, what: string, whatIfDown = what) {
  const outcome = await action.catch(toFailure);
  if (!(outcome instanceof Failure)) {
    for (const warning of outcome) await report.warn(warning);
    return undefined;
  }
  const { hint, status, applied = outcome.code === 'unknown' ? 'unknown' : 'no' } = outcome.facts;
  const known = status === undefined ? whatIfDown : what;
  // Neither a lost response nor an invalid one says whether the service has the record.
  const subject = applied === 'no' ? known : known.replace(/\b(was|were) not\b/, 'may not have been');
  await report.warn(`${subject}: ${unsentReason(outcome)}${hint ? `; ${hint}` : ''}`);
  return outcome;
}

// The service's message about a rejected request names what the user has to fix.
function unsentReason({ message, facts: { status, summary, issues = [] } }: Failure): string {
  if (status === undefined) return summary ?? message;
  const [issue] = issues;
  const others = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  const text = issue ? `${message}: ${issueText(issue)}${others}` : message;
  return text.replace(/\s+/g, ' ').slice(0, MAX_REASON_CHARS);
}

// The end of a command does not wait for the reader of a FIFO.
const LOG_OPEN_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);

// To a file that is 0600 if new. The message of its Failure is the reason alone.
async function appendCallLog(path: string, cwd: string, line: string): Promise<never[]> {
  await writeFile(resolve(cwd, path), `${line}\n`, { mode: 0o600, flag: LOG_OPEN_FLAGS }).catch((error: unknown) => {
    throw fileFailure('write', path, error).with({}, describeFileError(error));
  });
  return [];
}

// The namespace of the ids of the feedback; a random UUID that never changes.
const EXIT_FEEDBACK_NAMESPACE = '0b1f8a52-6d0c-4f3e-9a75-31d7b1b6c9e4';

// Replaces the feedback of a call about its exit. Its id is derived from the call, so a retry is safe. Returns the warnings
// of the response, and throws the Failure of feedback that was not confirmed.
async function sendExitFeedback(
  { program, record, options }: TracedCommand,
  settings: Settings,
  end: ProcessEnd,
  endedAtMs: number,
  context: Context,
) {
  const { project_id = '', id: callId, started_at } = record;
  const type = typeof options.exitFeedback === 'string' ? options.exitFeedback : 'exit';
  const id = uuidV5(EXIT_FEEDBACK_NAMESPACE, `${callId}/${type}`);
  const command = context.report.redact(program);
  const payload = { command, ...exitOf(end), duration_ms: endedAtMs - Date.parse(started_at) };
  const svc_ref = `svc:///${project_id}/call/${callId}`;
  const body = { project_id, feedback_id: id, id, feedback_type: type, svc_ref, payload };
  const { warnings } = await sendJson(writeJson(body), settings, context).catch((error: unknown) => {
    throw toRecordFailure(error, options);
  });
  return warnings;
}

function exitOf(end: ProcessEnd): { exit_code: number | null; signal: string | null } {
  return typeof end === 'number' ? { exit_code: end, signal: null } : { exit_code: null, signal: end.signal };
}

// What a shell does with a word, and the system does not.
const SHELL_WORD = /^(?:\.|alias|bg|cd|eval|exec|export|fg|jobs|read|set|source|trap|ulimit|umask|unset)$/;

// The arguments may be secrets.
function startHint([program = '', ...rest]: readonly string[], problem: string): string {
  const more = rest.length > 0 ? ' ...' : '';
  if (program.startsWith('-')) return '; flags of svc come before --, and the command after it';
  if (/^\w+=/.test(program)) return '; write: svc call run -- env <name>=<value> <command>';
  if (SHELL_WORD.test(program)) return `; only a shell has it: svc call run -- sh -c '${program}${more}'`;
  if (/ /.test(program) && rest.length === 0)
    return `; write it without the quotes, or as: svc call run -- sh -c ${shellWord(program)}`;
  if (!problem.includes('permission')) return '';
  return `; for a script, write: svc call run -- sh ${shellWord(program)}${more}`;
}
