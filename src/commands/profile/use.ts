import type { RunCommand } from '../../command.ts';
import { LOCAL_PROFILE_NAME, requireStoredProfile } from '../../config/profile.ts';
import { updateProfiles } from '../../config/update-profiles.ts';

/** Makes a profile the default. */
export const runProfileUse: RunCommand = async ({ args: [name = ''] }, context) => {
  const { report } = context;
  await updateProfiles(context, (stored) => {
    if (name !== LOCAL_PROFILE_NAME) requireStoredProfile(stored, name);
    return { ...stored, current: name };
  });
  await report.note(`using the profile "${name}" from now on`);
};
