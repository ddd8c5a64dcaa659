import { usageFailure } from '../errors.ts';
import type { StoredSettings } from './settings.ts';

export type JsonType = 'a string' | 'an array of strings' | 'an object of strings';

/**
 * What svc keeps in a profile beside the settings: the names of entries in the operating system's keychain, which hold
 * the secrets instead, and the origins the credentials, headers and command were given for; they are sent to no other.
 */
export const bindingTypes = {
  password_key: 'a string',
  token_key: 'a string',
  basic_origins: 'an array of strings',
  bearer_origins: 'an array of strings',
  header_origins: 'an array of strings',
  basic_command_origins: 'an array of strings',
  bearer_command_origins: 'an array of strings',
} as const satisfies Record<string, JsonType>;

/** A stored profile. Names are those of the file. */
export type Profile = StoredSettings & {
  readonly [K in keyof typeof bindingTypes]?: (typeof bindingTypes)[K] extends 'a string' ? string : readonly string[];
};

/** All profiles, and the name of the default. */
export interface ProfileStore {
  readonly current?: string;
  readonly profiles: { readonly [name: string]: Profile };
}

/** The profile that is meant when none is named and none is in use. */
export const DEFAULT_PROFILE_NAME = 'default';

/** The name that always means the local service. */
export const LOCAL_PROFILE_NAME = 'local';

/** The name, if it can be one; throws usage for names that are malformed or reserved. */
export function parseProfileName(name: string): string {
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name))
    throw usageFailure(
      `${JSON.stringify(name)} cannot be the name of a profile`,
      'use up to 64 letters, digits, _, . and -',
    );
  if (name === LOCAL_PROFILE_NAME)
    throw usageFailure('the profile "local" is built in and cannot be changed', 'name another profile');
  return name;
}

/** Throws usage for a name that is not that of a stored profile. */
export function requireStoredProfile({ profiles }: ProfileStore, name: string): void {
  if (!Object.hasOwn(profiles, parseProfileName(name)))
    throw usageFailure(`profile "${name}" does not exist`, 'to list the profiles, run: svc profile list');
}

export function getProfile({ profiles }: ProfileStore, name: string): Profile {
  return (Object.hasOwn(profiles, name) ? profiles[name] : undefined) ?? {};
}
