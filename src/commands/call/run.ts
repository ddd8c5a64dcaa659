import { type CallSettings, resolveAutofill, resolveCallSettings } from '../../client/call-settings.ts';
import { sendBody } from '../../client/send-body.ts';
import type { Invocation, ProcessEnd } from '../../command.ts';
import { dataDirectory } from '../../config/directories.ts';
import { parseDurationMs } from '../../config/parse-duration.ts';
import type { Context } from '../../context.ts';
import { type Failure, toFailure, usageFailure } from '../../errors.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag } from '../../flag.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { describeSurroundings } from '../../trace/call-attributes.ts';
import { appendCallLog } from '../../trace/call-log.ts';
import {
  callRecordBody,
  operationName,
  type RecordedInputs,
  recordedInputs,
  type TracedCall,
  traceTarget,
} from '../../trace/call-record.ts';
import { readParent } from '../../trace/read-parent.ts';
import { redactArguments, secretEnvironmentValues } from '../../trace/redact-arguments.ts';
import { type ChildResult, runChild } from '../../trace/run-child.ts';
import { removeSpooledCall, spoolCall, spoolDirectory } from '../../trace/spool.ts';
import { createTraceContext, traceEnvironment } from '../../trace/trace-context.ts';
import { replaceProcess } from './replace-process.ts';
import { sendExitFeedback } from './send-exit-feedback.ts';

const DEFAULT_GRACE_MS = 5000;

/** A traced command, ready to run. */
export interface TracedCommand {
  readonly words: readonly string[];
  readonly record: TracedCall;
  readonly settings: CallSettings;
  readonly childEnv: { readonly [name: string]: string | undefined };
}

/**
 * Runs a command and records it as a call. Returns how the command ended, whatever happens to the record, except with
 * `--require`, which throws the Failure of the record and does not start the command. Throws usage for wrong flags.
 */
export async function runCallRun({ args, flags }: Invocation, context: Context): Promise<ProcessEnd | undefined> {
  const { runtime, report } = context;
  requireConsistentFlags(args, flags, context);
  const graceMs = parseDurationMs('--grace', getStringFlag(flags, 'grace') ?? `${DEFAULT_GRACE_MS / 1000}`);
  const command = await prepareCommand(args, flags, context);
  if (getBooleanFlag(flags, 'replace')) {
    await reportUnsent(await attempt(() => recordCall(command, flags, context, context.signal)), context);
    return replaceProcess(command.words, command.childEnv, runtime);
  }
  if (getBooleanFlag(flags, 'require')) await recordCall(command, flags, context, context.signal);
  context.ignoreStopSignals();
  const controller = new AbortController();
  const recorded = getBooleanFlag(flags, 'require')
    ? Promise.resolve(undefined)
    : attempt(() => recordCall(command, flags, context, controller.signal));
  const result = await runChild({ words: command.words, env: command.childEnv }, runtime);
  const endedAt = runtime.now();
  if (result.startError) await report.warn(`could not run ${command.words[0]}: ${result.startError}`);
  const cancelGrace = runtime.after(graceMs, () =>
    controller.abort(new Error(`no response within ${graceMs / 1000} s`)),
  );
  // From here on a signal ends only the wait for the record.
  const release = runtime.onSignal(() => controller.abort(new Error('interrupted')));
  try {
    const failure = await recorded;
    await reportUnsent(failure, context);
    await reportUnsent(
      await attempt(() =>
        afterwards(command, result, endedAt, failure === undefined, flags, context, controller.signal),
      ),
      context,
    );
  } finally {
    cancelGrace();
    release();
  }
  return result.end;
}

function requireConsistentFlags(args: readonly string[], flags: FlagValues, { runtime }: Context): void {
  if (args.length === 0)
    throw usageFailure('svc call run needs a command', 'write it after --: svc call run -- make test');
  const spool = flags.get('spool');
  if (typeof spool === 'string' && spool !== 'only')
    throw usageFailure(`--spool cannot be ${JSON.stringify(spool)}`, 'write --spool or --spool=only');
  if (spool === 'only' && getBooleanFlag(flags, 'require'))
    throw usageFailure('--require waits for the service, and --spool=only never asks it', 'use one of them');
  if (!getBooleanFlag(flags, 'replace')) return;
  const conflicting = ['log-file', 'exit-feedback'].find((name) => flags.has(name));
  if (conflicting)
    throw usageFailure(
      `--${conflicting} needs svc to run until the command ends, and --replace ends svc before`,
      'use one of them',
    );
  if (!runtime.replaceProcess)
    throw usageFailure(
      '--replace needs Node 22.15 or later',
      `leave it out, or run svc with a newer Node than ${runtime.node}`,
    );
}

async function prepareCommand(words: readonly string[], flags: FlagValues, context: Context): Promise<TracedCommand> {
  const { runtime, report } = context;
  const { env } = runtime;
  const settings = await resolveCallSettings(callStartOperation, flags, context);
  const isExact = getBooleanFlag(flags, 'exact') === true;
  const isParentUsed = getBooleanFlag(flags, 'parent') !== false && !isExact;
  const parent = isParentUsed ? await readParent(env, report) : undefined;
  const trace = createTraceContext(parent, runtime);
  const autofill = await resolveAutofill({ ...settings.options, exact: false }, settings.chosen, runtime);
  const projectId = getStringFlag(flags, 'project-id') ?? autofill?.project.text;
  const { profile } = settings.chosen;
  const secrets = [...secretEnvironmentValues(env), profile.password, profile.token].flatMap((secret) => secret ?? []);
  const record: TracedCall = {
    projectId: projectId || undefined,
    trace,
    opName: operationName(getStringFlag(flags, 'op-name'), words[0] ?? ''),
    startedAt: new Date(runtime.now()).toISOString(),
    inputs: recordedInputs(inputsChoice(flags), redactArguments(words, secrets)),
    attributes: isExact ? {} : await describeSurroundings(runtime, getArrayFlag(flags, 'env')),
  };
  return { words, record, settings, childEnv: { ...env, ...traceEnvironment(trace, record.projectId) } };
}

function inputsChoice(flags: FlagValues): RecordedInputs {
  const choices: readonly RecordedInputs[] = ['none', 'name', 'argv'];
  return choices.find((choice) => choice === getStringFlag(flags, 'inputs')) ?? 'argv';
}

/** Sends the record of a command, or keeps it in the spool. Throws the Failure of a record that was not confirmed. */
async function recordCall(
  { record, settings }: TracedCommand,
  flags: FlagValues,
  context: Context,
  signal: AbortSignal,
): Promise<void> {
  const { runtime } = context;
  const body = callRecordBody(record);
  if (!record.projectId)
    throw usageFailure(
      'the call has no project',
      'give --project-id, or set SVC_PROJECT_ID or project_id of the profile',
    );
  const spool = flags.get('spool');
  const file = spool
    ? await spoolCall(
        spoolDirectory(dataDirectory(runtime)),
        record.trace.callId,
        traceTarget(settings.destination),
        body,
      )
    : undefined;
  if (spool === 'only') return;
  await sendBody(callStartOperation, body, settings, context, signal);
  if (file) await removeSpooledCall(file);
}

async function afterwards(
  { words, record, settings }: TracedCommand,
  { end }: ChildResult,
  endedAtMs: number,
  isSent: boolean,
  flags: FlagValues,
  context: Context,
  signal: AbortSignal,
): Promise<void> {
  const exit = typeof end === 'number' ? { exit_code: end, signal: null } : { exit_code: null, signal: end.signal };
  const logFile = getStringFlag(flags, 'log-file');
  if (logFile !== undefined) await appendCallLog(logFile, record, { ...exit, endedAtMs, isSent }, context.runtime);
  const feedbackType = flags.get('exit-feedback');
  if (feedbackType === undefined) return;
  const durationMs = endedAtMs - Date.parse(record.startedAt);
  await sendExitFeedback(
    {
      type: typeof feedbackType === 'string' ? feedbackType : 'exit',
      record,
      payload: { command: words[0] ?? '', ...exit, duration_ms: durationMs },
    },
    settings,
    flags,
    context,
    signal,
  );
}

async function attempt(action: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    return toFailure(error);
  }
}

async function reportUnsent(failure: Failure | undefined, { report }: Context): Promise<void> {
  if (!failure) return;
  const hint = failure.facts.hint ? ` (${failure.facts.hint})` : '';
  await report.warn(`the call was not recorded: ${failure.facts.summary ?? failure.message}${hint}`);
}
