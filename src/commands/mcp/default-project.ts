import { resolveAutofill } from '../../client/call-settings.ts';
import { readOperationOptions } from '../../client/operation-options.ts';
import { selectProfile } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import type { FlagValues } from '../../flag.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';

/** True if the environment, `.svc.json` or the profile names a project, which svc adds to arguments without one. */
export async function hasDefaultProject(flags: FlagValues, context: Context): Promise<boolean> {
  try {
    const options = readOperationOptions(feedbackSchemaOperation, flags);
    const selected = await selectProfile(options.connectionFlags, context);
    return (await resolveAutofill(options, selected, context))?.project.text !== undefined;
  } catch {
    // A call reports what is wrong.
    return false;
  }
}
