import type { Run } from '../cli/command.ts';
import { usage } from '../errors.ts';
import { localProfile, profileName } from '../profiles/profile.ts';
import { changeProfiles } from '../profiles/store.ts';

/** Makes a profile the one that counts where none is named. */
export const runProfileUse: Run = async ({ args: [name = ''] }, { runtime, report }) => {
  await changeProfiles(runtime, (stored) => {
    if (name !== localProfile && !Object.hasOwn(stored.profiles, profileName(name))) {
      throw usage(`there is no profile "${name}"`, 'svc profile list shows what there is');
    }
    return { ...stored, current: name };
  });
  await report.note(`using the profile "${name}" from now on`);
};
