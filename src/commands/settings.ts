import { type FlagValues, textOf } from '../fields/flag.ts';
import { parseBaseUrl } from '../profiles/base-url.ts';
import type { Profile } from '../profiles/profile.ts';
import { readDuration } from './duration.ts';

const addresses = ['base_url', 'trace_base_url', 'chat_base_url', 'train_base_url'] as const;
const settings = [...addresses, 'timeout', 'project_id', 'model'] as const;

/** Settings and their new values; empty for one that is to go. */
export type Settings = { readonly [setting: string]: string };

/** The settings flags give, checked: addresses, the time limit, project and model. Throws usage for a malformed one. */
export function readSettings(flags: FlagValues): Settings {
  const given = settings.flatMap((setting) => {
    const value = textOf(flags, setting.replaceAll('_', '-'));
    return value === undefined ? [] : [[setting, value] as const];
  });
  for (const [setting, value] of given) {
    const flag = `--${setting.replaceAll('_', '-')}`;
    if (value !== '' && addresses.some((address) => address === setting)) parseBaseUrl(value, flag);
    if (value !== '' && setting === 'timeout') readDuration(flag, value);
  }
  return Object.fromEntries(given);
}

/** A profile with some settings changed; those that became empty are gone. */
export function changed(profile: Profile, changes: Settings): Profile {
  return Object.fromEntries(Object.entries({ ...profile, ...changes }).filter(([, value]) => value !== ''));
}
