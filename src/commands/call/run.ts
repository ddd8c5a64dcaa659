import { existsSync } from 'node:fs';
import { type CallSettings, resolveAutofill, resolveCallSettings } from '../../client/call-settings.ts';
import { sendBody } from '../../client/send-body.ts';
import type { Invocation, ProcessEnd } from '../../command.ts';
import { dataDirectory } from '../../config/directories.ts';
import { parseDurationMs } from '../../config/parse-duration.ts';
import type { Context } from '../../context.ts';
import { Failure, toFailure, usageFailure } from '../../errors.ts';
import { type FlagValues, getArrayFlag, getBooleanFlag, getStringFlag } from '../../flag.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { createArgumentRedactor } from '../../trace/argument-redactor.ts';
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
import { type ChildResult, runChild } from '../../trace/run-child.ts';
import { removeSpooledCall, spoolCall, spoolDirectory } from '../../trace/spool.ts';
import { createTraceContext, traceEnvironment } from '../../trace/trace-context.ts';
import { PROCESS_LAUNCHER, replaceProcess } from './replace-process.ts';
import { sendExitFeedback } from './send-exit-feedback.ts';

const DEFAULT_GRACE_MS = 5000;

/** A traced command, ready to run. */
export interface TracedCommand {
  readonly words: readonly string[];
  /** The program without secrets. */
  readonly program: string;
  readonly record: TracedCall;
  /** How the service is reached, or why it cannot be. */
  readonly settings: CallSettings | Failure;
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
  if (result.startError) await report.warn(`could not run ${command.program}: ${result.startError}`);
  const cancelGrace = runtime.after(graceMs, () =>
    controller.abort(new Failure('unknown', `no response within ${graceMs / 1000} s after the command ended`)),
  );
  // From here on a signal ends only the wait for the record.
  const release = runtime.onSignal(() =>
    controller.abort(new Failure('unknown', 'interrupted before the response arrived')),
  );
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
  if (!runtime.replaceProcess || !existsSync(PROCESS_LAUNCHER))
    throw usageFailure(
      `--replace needs Node 22.15 or later and ${PROCESS_LAUNCHER}`,
      `leave it out, or run svc with a newer Node than ${runtime.node}`,
    );
  if (args[0]?.includes('='))
    throw usageFailure(
      `--replace cannot run a program whose name has an equals sign: ${JSON.stringify(args[0])}`,
      'set variables with: svc call run --replace -- env NAME=value COMMAND',
    );
}

async function prepareCommand(words: readonly string[], flags: FlagValues, context: Context): Promise<TracedCommand> {
  const { runtime, report } = context;
  const { env } = runtime;
  const isExact = getBooleanFlag(flags, 'exact') === true;
  const isParentUsed = getBooleanFlag(flags, 'parent') !== false && !isExact;
  const parent = isParentUsed ? await readParent(env, report) : undefined;
  const trace = createTraceContext(parent, runtime);
  const { settings, defaultProject } = await resolveService(flags, context);
  const { password, token } = settings instanceof Failure ? {} : settings.chosen.profile;
  const redactor = createArgumentRedactor(
    env,
    [password, token].flatMap((secret) => secret ?? []),
  );
  const redactedWords = redactor.redactArguments(words);
  const record: TracedCall = {
    projectId: getStringFlag(flags, 'project-id') || defaultProject || undefined,
    trace,
    opName: operationName(getStringFlag(flags, 'op-name'), redactedWords[0] ?? ''),
    startedAt: new Date(runtime.now()).toISOString(),
    inputs: recordedInputs(inputsChoice(flags), redactedWords),
    attributes: isExact ? {} : await describeSurroundings(runtime, getArrayFlag(flags, 'env'), redactor),
  };
  return {
    words,
    program: redactedWords[0] ?? '',
    record,
    settings,
    childEnv: { ...env, ...traceEnvironment(trace, record.projectId) },
  };
}

// A file that cannot be used, such as the profiles, keeps only the record from the service. Throws usage.
async function resolveService(
  flags: FlagValues,
  context: Context,
): Promise<{ settings: CallSettings | Failure; defaultProject: string | undefined }> {
  try {
    const settings = await resolveCallSettings(callStartOperation, flags, context);
    const autofill = await resolveAutofill({ ...settings.options, exact: false }, settings.chosen, context.runtime);
    return { settings, defaultProject: autofill?.project.text };
  } catch (error) {
    const failure = toFailure(error);
    if (failure.code === 'usage' || context.signal.aborted) throw error;
    return { settings: failure, defaultProject: context.runtime.env.SVC_PROJECT_ID };
  }
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
  if (settings instanceof Failure) throw settings;
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
  { program, record, settings }: TracedCommand,
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
  if (feedbackType === undefined || settings instanceof Failure) return;
  const durationMs = endedAtMs - Date.parse(record.startedAt);
  await sendExitFeedback(
    {
      type: typeof feedbackType === 'string' ? feedbackType : 'exit',
      record,
      payload: { command: program, ...exit, duration_ms: durationMs },
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
