import { resolveSettings, type Settings } from '../../client/settings.ts';
import { environmentSetting } from '../../config/resolve-setting.ts';
import type { Context } from '../../context.ts';
import { Failure, toFailure } from '../../errors.ts';
import { type FlagValues, getArrayFlag, getStringFlag, isFlagOn } from '../../flag.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import type { Runtime } from '../../runtime.ts';
import { createArgumentRedactor } from '../../trace/argument-redactor.ts';
import { collectCallAttributes, operationName, recordedInputs, type TracedCall } from '../../trace/call-record.ts';
import { createTraceContext, readParent, traceEnvironment } from '../../trace/trace-context.ts';

/** A traced command, ready to run. */
export interface TracedCommand {
  /** The program without secrets. */
  readonly program: string;
  readonly record: TracedCall;
  /** The route to the service, or the reason why there is none. */
  readonly settings: Settings | Failure;
  readonly childEnv: Runtime['env'];
  readonly flags: FlagValues;
}

/** Makes the record and the environment of a command. Throws usage for wrong flags, and the reason of an abort. */
export async function prepareCommand(
  words: readonly string[],
  flags: FlagValues,
  context: Context,
): Promise<TracedCommand> {
  const { runtime, report } = context;
  const isExact = isFlagOn(flags, 'exact');
  const trace = createTraceContext(isExact ? undefined : await readParent(flags, runtime.env, report), runtime);
  const { settings, defaultProject } = await resolveService(flags, context);
  const { password, token } = settings instanceof Failure ? {} : settings.profile.profile;
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
    attributes: isExact ? {} : await collectCallAttributes(runtime, getArrayFlag(flags, 'env'), redactor),
  };
  const childEnv = { ...runtime.env, ...traceEnvironment(trace, projectId) };
  return { program, record, settings, childEnv, flags };
}

// A file that cannot be used, such as the profiles, keeps only the record from the service. Throws usage.
async function resolveService(
  flags: FlagValues,
  context: Context,
): Promise<{ settings: Settings | Failure; defaultProject: string | undefined }> {
  try {
    const settings = await resolveSettings(callStartOperation, flags, context);
    return { settings, defaultProject: settings.defaults.project.text };
  } catch (error) {
    const failure = toFailure(error);
    if (failure.code === 'usage' || context.signal.aborted) throw error;
    return { settings: failure, defaultProject: environmentSetting('project_id', context.runtime.env) };
  }
}
