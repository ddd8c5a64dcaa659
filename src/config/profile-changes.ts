import { type FlagValues, getStringFlag } from '../flag.ts';
import type { Profile } from './profile.ts';
import { readSettingValue } from './setting-kinds.ts';
import { type Setting, settingFlagName, settings } from './settings.ts';

/** Settings and their new values; an empty value removes the setting. */
export type ProfileChanges = { readonly [setting: string]: string | readonly string[] };

/** The settings that flags give for a profile, checked; paths become absolute. Throws usage for an invalid one. */
export function readProfileChanges(flags: FlagValues, cwd: string): ProfileChanges {
  const entries = settings.flatMap((setting: Setting) => {
    const flag = settingFlagName(setting);
    const text = setting.isStored && setting.flag ? getStringFlag(flags, flag) : undefined;
    if (text === undefined) return [];
    return [[setting.name, text === '' ? text : readSettingValue(setting, text, `--${flag}`, cwd)] as const];
  });
  return Object.fromEntries(entries);
}

/** A profile with some settings changed; those that became empty are removed. */
export function applyProfileChanges(profile: Profile, changes: ProfileChanges): Profile {
  return Object.fromEntries(Object.entries({ ...profile, ...changes }).filter(([, value]) => value !== ''));
}
