import { resolveSettings } from '../../client/settings.ts';
import type { Context } from '../../context.ts';
import type { FlagValues } from '../../flag.ts';
import { feedbackSchemaOperation } from '../../operations/feedback-schema.ts';

/** True if the environment, `.svc.json` or the profile names a project, which svc adds to arguments without one. */
export async function hasDefaultProject(flags: FlagValues, context: Context): Promise<boolean> {
  try {
    // As for a dry run: the tools are listed without a base URL, too.
    const { isExact, defaults } = await resolveSettings(
      feedbackSchemaOperation,
      new Map([...flags, ['dry-run', true]]),
      context,
    );
    return !isExact && defaults.project.text !== undefined;
  } catch {
    // A call reports what is wrong.
    return false;
  }
}
