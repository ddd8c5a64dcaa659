import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type CallSettings, resolveAutofill, resolveCallSettings } from '../../client/call-settings.ts';
import { sendBody } from '../../client/send-body.ts';
import type { Invocation, ProcessEnd } from '../../command.ts';
import { dataDirectory } from '../../config/directories.ts';
import { parseDurationMs } from '../../config/parse-duration.ts';
import { environmentSetting } from '../../config/resolve-setting.ts';
import type { Context } from '../../context.ts';
import { Failure, toFailure, usageFailure } from '../../errors.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag } from '../../flag.ts';
import { writeJson } from '../../json/write-json.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { issueText } from '../../output/failure-text.ts';
import type { Runtime } from '../../runtime.ts';
import { createArgumentRedactor } from '../../trace/argument-redactor.ts';
import { describeSurroundings } from '../../trace/call-attributes.ts';
import { operationName, recordedInputs, type TracedCall } from '../../trace/call-record.ts';
import { runChild } from '../../trace/run-child.ts';
import { spoolCall, spoolDirectory, traceTarget } from '../../trace/spool.ts';
import { createTraceContext, readParent, traceEnvironment } from '../../trace/trace-context.ts';
import { appendCallLog, type CallEnd, sendExitFeedback } from './record-end.ts';

const DEFAULT_GRACE = '5s';
const MAX_REASON_CHARS = 400;
const RECORD_SUBJECT = 'the call was not recorded';
const RECORD_AND_EXIT_SUBJECT = 'the call and its exit code were not recorded';

// Finds the program on the PATH, and exits with 126 or 127 if it cannot be run. Node itself would abort then.
const PROCESS_LAUNCHER = '/usr/bin/env';

/** A traced command, ready to run. */
interface TracedCommand {
  /** The program without secrets. */
  readonly program: string;
  readonly record: TracedCall;
  /** How the service is reached, or why it cannot be. */
  readonly settings: CallSettings | Failure;
  readonly childEnv: Runtime['env'];
}

/**
 * Runs a command and records it as a call. Returns how the command ended, whatever happens to the record, except with
 * `--require`, which throws the Failure of the record and does not start the command. Throws usage for wrong flags.
 */
export async function runCallRun({ args, flags }: Invocation, context: Context): Promise<ProcessEnd> {
  const { runtime, report } = context;
  requireConsistentFlags(args, flags, runtime);
  const graceMs = parseDurationMs('--grace', getStringFlag(flags, 'grace') ?? DEFAULT_GRACE);
  const command = await prepareCommand(args, flags, context);
  const record = (signal: AbortSignal): Promise<readonly string[]> => recordCall(command, flags, context, signal);
  if (getBooleanFlag(flags, 'replace')) {
    await reportAction(RECORD_SUBJECT, record(context.signal), context);
    // svc ends here: its process is that of the command.
    runtime.replaceProcess?.(PROCESS_LAUNCHER, ['env', '--', ...args], command.childEnv);
  }
  const isRequired = getBooleanFlag(flags, 'require');
  const confirmed = isRequired ? await record(context.signal) : undefined;
  context.ignoreStopSignals();
  const controller = new AbortController();
  const recorded = confirmed ? Promise.resolve(confirmed) : record(controller.signal);
  // It is reported after the command.
  recorded.catch(() => {});
  const { end, startError } = await runChild(args, command.childEnv, runtime);
  const endedAtMs = runtime.now();
  if (startError) await report.warn(`could not run ${command.program}: ${startError}`);
  const giveUp = (reason: string): void => controller.abort(new Failure('unknown', reason));
  const cancelGrace = runtime.after(graceMs, () =>
    giveUp(`no response within ${graceMs / 1000} s after the command ended`),
  );
  // From here on a signal ends only the wait for the record.
  const release = runtime.onSignal(() => giveUp('interrupted before the response arrived'));
  try {
    const failure = await reportWarnings(recorded, context);
    // A service that is down is reported once.
    const isReachable = !failure || failure.facts.status !== undefined;
    const subject = isReachable || !flags.has('exit-feedback') ? RECORD_SUBJECT : RECORD_AND_EXIT_SUBJECT;
    if (failure) await reportFailure(subject, failure, context);
    const isSent = !failure && flags.get('spool') !== 'only';
    await recordEnd(command, { end, endedAtMs, isSent }, isReachable, flags, context, controller.signal);
  } finally {
    cancelGrace();
    release();
  }
  return end;
}

function requireConsistentFlags(args: readonly string[], flags: FlagValues, runtime: Runtime): void {
  const [program] = args;
  if (program === undefined)
    throw usageFailure('svc call run needs a command', 'write it after --: svc call run -- make test');
  if (flags.get('spool') === 'only' && getBooleanFlag(flags, 'require'))
    throw usageFailure('--require waits for the service, and --spool=only never asks it', 'use one of them');
  if (flags.get('spool') === 'only' && flags.has('exit-feedback'))
    throw usageFailure('--exit-feedback sends a request, and --spool=only never sends one', 'use one of them');
  if (!getBooleanFlag(flags, 'replace')) return;
  if (!runtime.replaceProcess || !existsSync(PROCESS_LAUNCHER))
    throw usageFailure(
      `--replace needs Node 22.15 or later and ${PROCESS_LAUNCHER}`,
      `leave it out, or run svc with a newer Node than ${runtime.node}`,
    );
  if (program.includes('='))
    throw usageFailure(
      `--replace cannot run a program whose name has an equals sign: ${JSON.stringify(program)}`,
      'set variables with: svc call run --replace -- env NAME=value COMMAND',
    );
}

async function prepareCommand(words: readonly string[], flags: FlagValues, context: Context): Promise<TracedCommand> {
  const { runtime, report } = context;
  const isExact = getBooleanFlag(flags, 'exact') === true;
  const trace = createTraceContext(isExact ? undefined : await readParent(flags, runtime.env, report), runtime);
  const { settings, defaultProject } = await resolveService(flags, context);
  const { password, token } = settings instanceof Failure ? {} : settings.chosen.profile;
  const credentials = [password, token].flatMap((secret) => secret ?? []);
  const redactor = createArgumentRedactor(runtime.env, credentials);
  const redactedWords = redactor.redactArguments(words);
  const projectId = getStringFlag(flags, 'project-id') || defaultProject || undefined;
  const [program = ''] = redactedWords;
  const record = {
    project_id: projectId,
    id: trace.callId,
    trace_id: trace.traceId,
    parent_id: trace.parentId,
    op_name: operationName(getStringFlag(flags, 'op-name'), program),
    started_at: new Date(runtime.now()).toISOString(),
    inputs: recordedInputs(getStringFlag(flags, 'inputs'), redactedWords),
    attributes: isExact ? {} : await describeSurroundings(runtime, getArrayFlag(flags, 'env'), redactor),
  };
  const childEnv = { ...runtime.env, ...traceEnvironment(trace, projectId) };
  return { program, record, settings, childEnv };
}

// A file that cannot be used, such as the profiles, keeps only the record from the service. Throws usage.
async function resolveService(
  flags: FlagValues,
  context: Context,
): Promise<{ settings: CallSettings | Failure; defaultProject: string | undefined }> {
  try {
    const settings = await resolveCallSettings(callStartOperation, flags, context);
    const autofill = await resolveAutofill({ ...settings.options, isExact: false }, settings.chosen, context.runtime);
    return { settings, defaultProject: autofill?.project.text };
  } catch (error) {
    const failure = toFailure(error);
    if (failure.code === 'usage' || context.signal.aborted) throw error;
    return { settings: failure, defaultProject: environmentSetting('project_id', context.runtime.env) };
  }
}

/**
 * Sends the record of a command, or keeps it in the spool. Returns the warnings of the response, and throws the Failure of a
 * record that was not confirmed.
 */
async function recordCall(
  { record, settings }: TracedCommand,
  flags: FlagValues,
  context: Context,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (settings instanceof Failure) throw settings;
  if (!record.project_id)
    throw usageFailure(
      'the call has no project',
      'give --project-id, or set SVC_PROJECT_ID or project_id of the profile',
    );
  const body = writeJson({ start: record });
  const spool = flags.get('spool');
  const directory = spoolDirectory(dataDirectory(context.runtime));
  const spooled = spool ? spoolCall(directory, record.id, traceTarget(settings.destination), body) : undefined;
  if (spool === 'only') {
    await spooled;
    return [];
  }
  // A call that cannot be spooled can still be sent.
  const file = await spooled?.catch(toFailure);
  const unspooled = file instanceof Failure ? file : undefined;
  const sent = sendBody(callStartOperation, body, settings, { ...context, signal });
  const warnings = await sent.catch((error: unknown) => {
    if (!file) throw error;
    const { code, message, facts } = toFailure(error);
    const hint = unspooled
      ? `it was not spooled: ${unspooled.message}`
      : 'it stays in the spool; to send it, run: svc call flush';
    throw new Failure(code, message, { ...facts, hint });
  });
  if (unspooled) return [`the call was sent, but not spooled: ${unspooled.message}`, ...warnings];
  if (typeof file === 'string') await rm(file, { force: true });
  return warnings;
}

// Each step is reported by itself: the call is recorded even where its end is not.
async function recordEnd(
  { program, record, settings }: TracedCommand,
  callEnd: CallEnd,
  isReachable: boolean,
  flags: FlagValues,
  context: Context,
  signal: AbortSignal,
): Promise<void> {
  const logFile = getStringFlag(flags, 'log-file');
  if (logFile !== undefined) {
    const appended = appendCallLog(logFile, record, callEnd, context.runtime.cwd).then(() => []);
    await reportAction(`the end of the call was not written to ${logFile}`, appended, context);
  }
  if (flags.has('exit-feedback') && isReachable && !(settings instanceof Failure)) {
    const sent = sendExitFeedback(record, callEnd, program, settings, flags, context, signal);
    await reportAction('the feedback on the exit code was not sent', sent, context);
  }
}

async function reportAction(subject: string, action: Promise<readonly string[]>, context: Context): Promise<void> {
  const failure = await reportWarnings(action, context);
  if (failure) await reportFailure(subject, failure, context);
}

// Prints the warnings of an action, and returns its failure.
async function reportWarnings(action: Promise<readonly string[]>, { report }: Context): Promise<Failure | undefined> {
  const outcome = await action.catch(toFailure);
  if (outcome instanceof Failure) return outcome;
  for (const warning of outcome) await report.warn(warning);
  return undefined;
}

function reportFailure(subject: string, failure: Failure, { report }: Context): Promise<void> {
  const { hint } = failure.facts;
  return report.warn(`${subject}: ${unsentReason(failure)}${hint ? `; ${hint}` : ''}`);
}

// What the service says about a request that it rejected is what the user has to fix.
function unsentReason({ message, facts: { status, summary, issues = [] } }: Failure): string {
  if (status === undefined) return summary ?? message;
  const [issue] = issues;
  const others = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  const text = issue ? `${message}: ${issueText(issue)}${others}` : message;
  // One line, whatever the service says.
  return text.replace(/\s+/g, ' ').slice(0, MAX_REASON_CHARS);
}
