import { usageFailure } from '../errors.ts';
import type { StoredSettings } from './settings.ts';

/** A stored profile: its settings (settings.ts), and what svc keeps beside them. Names are those of the file. */
export interface Profile extends StoredSettings {
  /** The names of entries in the operating system's keychain, which hold the secrets instead. */
  readonly password_key?: string;
  readonly token_key?: string;
  /** The origins the credentials, headers and command were given for; they are sent to no other. */
  readonly basic_origins?: readonly string[];
  readonly bearer_origins?: readonly string[];
  readonly header_origins?: readonly string[];
  readonly basic_command_origins?: readonly string[];
  readonly bearer_command_origins?: readonly string[];
}

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
