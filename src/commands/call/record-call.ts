import { rm } from 'node:fs/promises';
import { sendBody } from '../../client/send-body.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { Failure, toFailure, usageFailure } from '../../errors.ts';
import { writeJson } from '../../json/write-json.ts';
import { callStartOperation } from '../../operations/call-start.ts';
import { spoolCall, spoolDirectory, traceTarget } from '../../trace/spool.ts';
import type { TracedCommand } from './traced-command.ts';

/**
 * Sends the record of a command, or keeps it in the spool. Returns the warnings of the response, and throws the Failure of a
 * record that was not confirmed.
 */
export async function recordCall(
  { record, settings, flags }: TracedCommand,
  context: Context,
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
  const sent = sendBody(callStartOperation, body, settings, context);
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
