import type { RunCommand } from '../../command.ts';
import { removeFromKeychain } from '../../config/credentials/keychain.ts';
import { confirm } from '../../config/credentials/prompt.ts';
import { DEFAULT_PROFILE_NAME, type Profile, requireStoredProfile } from '../../config/profile.ts';
import { readProfiles } from '../../config/read-profiles.ts';
import { updateProfiles } from '../../config/update-profiles.ts';

/** Removes a profile with its credentials, after asking; without a terminal `--yes` must say so. */
export const runProfileRemove: RunCommand = async ({ args: [name = ''], flags }, context) => {
  const { runtime, report, signal } = context;
  requireStoredProfile(await readProfiles(context), name);
  if (!(await confirm(context, `Remove the profile "${name}" and its credentials?`, flags)))
    return report.note('nothing was removed');
  let before: Profile = {};
  let wasInUse = false;
  await updateProfiles(context, ({ current, profiles, ...others }) => {
    const { [name]: removed = {}, ...rest } = profiles;
    before = removed;
    wasInUse = current === name && name !== DEFAULT_PROFILE_NAME;
    return { ...others, ...(current === undefined || current === name ? {} : { current }), profiles: rest };
  });
  for (const warning of await removeFromKeychain(before, {}, runtime, signal)) await report.warn(warning);
  const fallback = wasInUse ? `, which was in use; svc now uses "${DEFAULT_PROFILE_NAME}"` : '';
  await report.note(`removed the profile "${name}"${fallback}`);
};
