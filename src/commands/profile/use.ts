import type { RunCommand } from '../../command.ts';
import { LOCAL_PROFILE_NAME, parseProfileName } from '../../config/profile.ts';
import { updateProfiles } from '../../config/update-profiles.ts';
import { usageFailure } from '../../errors.ts';

/** Makes a profile the default. */
export const runProfileUse: RunCommand = async ({ args: [name = ''] }, context) => {
  const { report } = context;
  await updateProfiles(context, (stored) => {
    if (name !== LOCAL_PROFILE_NAME && !Object.hasOwn(stored.profiles, parseProfileName(name))) {
      throw usageFailure(`profile "${name}" does not exist`, 'for the list of profiles, run: svc profile list');
    }
    return { ...stored, current: name };
  });
  await report.note(`using the profile "${name}" from now on`);
};
