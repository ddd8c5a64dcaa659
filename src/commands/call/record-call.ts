import { type Authorization, readAuthorization } from '../../client/authorization.ts';
import { missingBaseUrl } from '../../client/destination.ts';
import { sendJson } from '../../client/send.ts';
import type { Settings } from '../../client/settings.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { Failure, type FailureCode, toFailure, usageFailure } from '../../errors.ts';
import { type FlagValues, isFlagOn } from '../../flag.ts';
import { writeJson } from '../../json/write-json.ts';
import { recordedInputs, type TracedCall } from '../../trace/call-record.ts';
import { flushCommand, removeSpooledCall, spoolCall, spoolDirectory, traceTarget } from '../../trace/spool.ts';
import type { TracedCommand } from './traced-command.ts';

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
  const body = writeJson({
    start: isUnread ? withoutSecrets(command) : redactRecord(record, context.report.redact),
  });
  const call = { id: record.id, target: traceTarget(destination), body };
  // A call that cannot be spooled can still be sent.
  const directory = spoolDirectory(dataDirectory(context.runtime));
  const file = spool ? await spoolCall(directory, call, context.runtime).catch(toFailure) : undefined;
  if (spool !== 'only')
    return async () => sendRecord(body, { settings, authorization: await authorizing, file }, flags, context);
  if (file instanceof Failure) throw file;
  return async () =>
    isUnread ? [`the arguments and attributes of the command were not recorded: ${authorization.message}`] : [];
}

async function sendRecord(
  body: string,
  {
    settings,
    authorization,
    file,
  }: {
    readonly settings: Settings;
    readonly authorization: Authorization | Failure | undefined;
    /** The file in the spool, or the reason why there is none. */
    readonly file: string | Failure | undefined;
  },
  flags: FlagValues,
  context: Context,
): Promise<readonly string[]> {
  const sent =
    authorization instanceof Failure
      ? Promise.reject(authorization)
      : sendJson(body, settings, context, authorization).then((outcome) => outcome.warnings);
  const warnings = await sent.catch((error: unknown) => {
    const failure = toRecordFailure(error, flags);
    if (!file) throw failure;
    const hint =
      file instanceof Failure
        ? `it was not spooled: ${file.message}`
        : `it stays in the spool; to send it, run: ${flushCommand(flags)}`;
    throw new Failure(failure.code, failure.message, { ...failure.facts, hint });
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
  const { code, message, facts } = toFailure(error);
  const isHintKept =
    (SETUP_CODES.includes(code) && facts.status !== 422) || (code === 'rate_limited' && isFlagOn(flags, 'require'));
  const issues = facts.issues?.map((issue) => ({ ...issue, at: '' }));
  return new Failure(code, message, { ...facts, issues, hint: isHintKept ? facts.hint : undefined });
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
