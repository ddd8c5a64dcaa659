import { usageFailure } from '../errors.ts';

/** A stored profile. Members that are not set are absent; names are those of the file. */
export interface Profile {
  readonly base_url?: string;
  readonly trace_base_url?: string;
  readonly chat_base_url?: string;
  readonly train_base_url?: string;
  readonly username?: string;
  readonly password?: string;
  readonly token?: string;
  /** The names of entries in the operating system's keychain, which hold the secrets instead. */
  readonly password_key?: string;
  readonly token_key?: string;
  /** The origins the credentials and headers were given for; they are sent nowhere else. */
  readonly basic_origins?: readonly string[];
  readonly bearer_origins?: readonly string[];
  readonly header_origins?: readonly string[];
  /** A program and its arguments, which prints the password or the token; and the origins it was set for. */
  readonly credential_command?: readonly string[];
  readonly basic_command_origins?: readonly string[];
  readonly bearer_command_origins?: readonly string[];
  readonly headers?: { readonly [name: string]: string };
  /** A file of certificate authorities, by its absolute path. */
  readonly cacert?: string;
  readonly timeout?: string;
  readonly retries?: string;
  readonly project_id?: string;
  readonly model?: string;
}

/** All profiles, and the one in use where no other is named. */
export interface ProfileStore {
  readonly current?: string;
  readonly profiles: { readonly [name: string]: Profile };
}

/** The profile that is meant when none is named and none is in use. */
export const DEFAULT_PROFILE_NAME = 'default';

/** The name that always means the embedded service. */
export const LOCAL_PROFILE_NAME = 'local';

/** The name, if it can be one; throws usage for names that are malformed or reserved. */
export function parseProfileName(name: string): string {
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) {
    throw usageFailure(
      `${JSON.stringify(name)} cannot be the name of a profile`,
      'letters, digits, _ . and -, at most 64',
    );
  }
  if (name === LOCAL_PROFILE_NAME)
    throw usageFailure('the profile "local" is built in and cannot be changed', 'choose another name');
  return name;
}

/** The profile of a name, or an empty one. */
export function profileNamed({ profiles }: ProfileStore, name: string): Profile {
  return (Object.hasOwn(profiles, name) ? profiles[name] : undefined) ?? {};
}
