import type { Run } from '../cli/command.ts';
import { usage } from '../errors.ts';
import { isOn } from '../fields/flag.ts';
import { forgetInKeychain } from '../profiles/keychain.ts';
import { type Profile, profileName } from '../profiles/profile.ts';
import { ask } from '../profiles/prompt.ts';
import { readProfiles } from '../profiles/read.ts';
import { changeProfiles } from '../profiles/store.ts';

/** Removes a profile with its credentials, after asking; without a terminal `--yes` must say so. */
export const runProfileRemove: Run = async ({ args: [name = ''], flags }, { runtime, report, signal }) => {
  if (!Object.hasOwn((await readProfiles(runtime)).profiles, profileName(name))) {
    throw usage(`there is no profile "${name}"`, 'svc profile list shows what there is');
  }
  if (!isOn(flags, 'yes')) {
    const answer = await ask(runtime, `Remove the profile "${name}" and its credentials? [y/N] `, '--yes');
    if (!/^y(es)?$/i.test(answer.trim())) return report.note('nothing was removed');
  }
  let before: Profile = {};
  await changeProfiles(runtime, ({ current, profiles, ...others }) => {
    const { [name]: removed = {}, ...rest } = profiles;
    before = removed;
    return { ...others, ...(current === undefined || current === name ? {} : { current }), profiles: rest };
  });
  for (const warning of await forgetInKeychain(before, {}, runtime, signal)) await report.warn(warning);
  await report.note(`removed the profile "${name}"`);
};
