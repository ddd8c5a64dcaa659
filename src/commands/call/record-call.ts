import { readAuthorization } from '../../client/authorization.ts';
import { type Outcome, sendJson } from '../../client/send.ts';
import { missingBaseUrl, resolveSettings, type Settings, traceBaseUrl } from '../../client/settings.ts';
import { dataDirectory } from '../../config/directories.ts';
import { environmentSetting } from '../../config/resolve-setting.ts';
import type { Context } from '../../context.ts';
import { Failure, type FailureCode, toFailure, usageFailure } from '../../errors.ts';
import { type FlagValues, getArrayFlag, getStringFlag, isFlagOn } from '../../flag.ts';
import { writeJson } from '../../json/write-json.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import type { Runtime } from '../../runtime.ts';
import { createArgumentRedactor } from '../../trace/argument-redactor.ts';
import { collectCallAttributes, operationName, recordedInputs, type TracedCall } from '../../trace/call-record.ts';
import { flushCommand, removeSpooledCall, spoolCall, spoolDirectory } from '../../trace/spool.ts';
import { createTraceContext, readParent, traceEnvironment } from '../../trace/trace-context.ts';

/**
 * Makes the record of a command, and writes it to the spool if asked to: it is durable when this returns. Returns the function
 * that sends it, which returns warnings and throws the Failure of a record that was not confirmed.
 */
export async function prepareRecord(
  command: TracedCommand,
  context: Context,
): Promise<() => Promise<readonly string[]>> {
  const { record, settings, flags } = command;
  if (settings instanceof Failure) throw settings;
  if (!record.project_id)
    throw usageFailure(
      'the call has no project',
      'give --project-id, or set SVC_PROJECT_ID or project_id of the profile',
    );
  const { destination } = settings;
  if (!destination) throw missingBaseUrl(settings.profile);
  const spool = flags.get('spool');
  // A secret that a program prints is known only after that; no record may have it. Other records do not wait for programs.
  const isSecretLate = hasSecretOfProgram(settings);
  const mayHoldSecret = flags.get('inputs') === 'argv' || flags.has('env');
  const isAuthorized = spool !== 'only' || !isSecretLate || mayHoldSecret;
  const authorizing = isAuthorized ? readAuthorization(settings, destination, context).catch(toFailure) : undefined;
  const authorization = isSecretLate && !mayHoldSecret ? undefined : await authorizing;
  const isUnread = isSecretLate && authorization instanceof Failure;
  const start = isUnread ? withoutSecrets(command) : redactRecord(record, context.report.redact);
  const body = writeJson({ start });
  const call = { id: record.id, baseUrl: traceBaseUrl(destination), body };
  // A call that cannot be spooled can still be sent.
  const directory = spoolDirectory(dataDirectory(context.runtime));
  const file = spool ? await spoolCall(directory, call, context.runtime).catch(toFailure) : undefined;
  if (spool !== 'only')
    return () =>
      sendRecord(
        async () => {
          const read = await authorizing;
          if (read instanceof Failure) throw read;
          return sendJson(body, settings, context, read);
        },
        file,
        flags,
      );
  if (file instanceof Failure) throw file;
  return async () =>
    isUnread ? [`the arguments and attributes of the command were not recorded: ${authorization.message}`] : [];
}

// Sends a record whose copy in the spool is `file`, or the reason why there is none.
async function sendRecord(
  send: () => Promise<Outcome>,
  file: string | Failure | undefined,
  flags: FlagValues,
): Promise<readonly string[]> {
  const { warnings } = await send().catch((error: unknown) => {
    const failure = toRecordFailure(error, flags);
    if (!file) throw failure;
    const hint =
      file instanceof Failure
        ? `it was not spooled: ${file.message}`
        : `it stays in the spool; to send it, run: ${flushCommand(flags)}`;
    throw failure.with({ hint });
  });
  if (file instanceof Failure) return [`the call was sent, but not spooled: ${file.message}`, ...warnings];
  if (file === undefined) return warnings;
  // A response for another request confirms nothing.
  if (warnings.length > 0)
    return [...warnings, `the call stays in the spool; to send it again, run: ${flushCommand(flags)}`];
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

/**
 * The failure of a request that svc made from a command: it names fields by their paths, because call run has no flags for
 * them, and gives no hint to run svc again, because that would run the command again, with other ids.
 */
export function toRecordFailure(error: unknown, flags: FlagValues): Failure {
  const failure = toFailure(error);
  const { code, facts } = failure;
  const isHintKept =
    (SETUP_CODES.includes(code) && facts.status !== 422) || (code === 'rate_limited' && isFlagOn(flags, 'require'));
  const issues = facts.issues?.map((issue) => ({ ...issue, at: '' }));
  return failure.with({ issues, hint: isHintKept ? facts.hint : undefined });
}

function hasSecretOfProgram({ profile: { profile } }: Settings): boolean {
  return [profile.credential_command, profile.password_key, profile.token_key].some((source) => source !== undefined);
}

// The arguments and attributes may hold the secret that could not be read.
function withoutSecrets({ record, program, flags }: TracedCommand): TracedCall {
  const how = flags.get('inputs') === 'none' ? 'none' : 'name';
  return { ...record, inputs: recordedInputs(how, [program]), attributes: {} };
}

// Ids and times stay as they are, whatever the secret is.
function redactRecord(record: TracedCall, redact: (text: string) => string): TracedCall {
  const { op_name, inputs, attributes } = record;
  const redacted: Pick<TracedCall, 'op_name' | 'inputs' | 'attributes'> = JSON.parse(
    JSON.stringify({ op_name, inputs, attributes }),
    (_, value) => (typeof value === 'string' ? redact(value) : value),
  );
  return { ...record, ...redacted };
}

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
