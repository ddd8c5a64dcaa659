import type { CallSettings } from '../../client/call-settings.ts';
import { authorizeRequest, missingBaseUrl } from '../../client/destination.ts';
import { sendBody } from '../../client/send-body.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { Failure, type FailureCode, toFailure, usageFailure } from '../../errors.ts';
import { type FlagValues, isFlagOn } from '../../flag.ts';
import { writeJson } from '../../json/write-json.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { recordedInputs, type TracedCall } from '../../trace/call-record.ts';
import { flushCommand, removeSpooledCall, spoolCall, spoolDirectory, traceTarget } from '../../trace/spool.ts';
import type { TracedCommand } from './traced-command.ts';

/**
 * Sends the record of a command, or keeps it in the spool. Returns the warnings of the response, and throws the Failure of a
 * record that was not confirmed.
 */
export async function recordCall(command: TracedCommand, context: Context): Promise<readonly string[]> {
  const { record, settings, flags } = command;
  if (settings instanceof Failure) throw settings;
  if (!record.project_id)
    throw usageFailure(
      'the call has no project',
      'give --project-id, or set SVC_PROJECT_ID or project_id of the profile',
    );
  const { url } = settings.destination;
  if (!url) throw missingBaseUrl(settings.chosen);
  // A secret that a program prints is known only now; the spool must not have it either.
  const authorization = await authorizeRequest(callStartOperation, url, settings, context).catch(toFailure);
  const isUnread = flags.get('inputs') === 'argv' && authorization instanceof Failure && hasSecretOfProgram(settings);
  const body = writeJson({
    // The arguments may hold the secret that could not be read.
    start: isUnread
      ? { ...record, inputs: recordedInputs('name', [command.program]) }
      : redactRecord(record, context.report.redact),
  });
  const spool = flags.get('spool');
  const directory = spoolDirectory(dataDirectory(context.runtime));
  const spooled = spool ? spoolCall(directory, record.id, traceTarget(settings.destination), body) : undefined;
  if (spool === 'only') {
    await spooled;
    return isUnread ? [`the arguments of the command were not recorded: ${authorization.message}`] : [];
  }
  // A call that cannot be spooled can still be sent.
  const file = await spooled?.catch(toFailure);
  const sent =
    authorization instanceof Failure
      ? Promise.reject(authorization)
      : sendBody(callStartOperation, body, { ...settings, authorization }, context);
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

// Their hints are about credentials, the base URL and files; those of others, about running svc again.
const SETUP_CODES: readonly FailureCode[] = ['usage', 'credentials', 'refused', 'unreachable', 'local', 'guard'];

/**
 * The failure of a request that svc made from a command: it names fields by their paths, because call run has no flags for
 * them, and gives no hint to run svc again, because that would run the command again, with other ids.
 */
export function toRecordFailure(error: unknown, flags: FlagValues): Failure {
  const { code, message, facts } = toFailure(error);
  const isHintKept = SETUP_CODES.includes(code) || (code === 'limited' && isFlagOn(flags, 'require'));
  const issues = facts.issues?.map((issue) => ({ ...issue, at: '' }));
  return new Failure(code, message, { ...facts, issues, hint: isHintKept ? facts.hint : undefined });
}

function hasSecretOfProgram({ chosen: { profile } }: CallSettings): boolean {
  return [profile.credential_command, profile.password_key, profile.token_key].some((source) => source !== undefined);
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
