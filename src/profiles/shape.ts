import type { Profile, Profiles } from './profile.ts';

type Kind = 'text' | 'a list of texts' | 'an object of texts';

// What each member of a profile is. Members that are not here may come from a newer svc, and stay as they are.
const kinds: { readonly [member in keyof Required<Profile>]: Kind } = {
  base_url: 'text',
  trace_base_url: 'text',
  chat_base_url: 'text',
  train_base_url: 'text',
  username: 'text',
  password: 'text',
  token: 'text',
  password_key: 'text',
  token_key: 'text',
  basic_origins: 'a list of texts',
  bearer_origins: 'a list of texts',
  header_origins: 'a list of texts',
  credential_command: 'a list of texts',
  basic_command_origins: 'a list of texts',
  bearer_command_origins: 'a list of texts',
  headers: 'an object of texts',
  cacert: 'text',
  timeout: 'text',
  retries: 'text',
  project_id: 'text',
  model: 'text',
};

/** True for a store as svc writes it. */
export function isStore(store: Record<string, unknown>): store is Record<string, unknown> & Profiles {
  return flawOf(store) === undefined;
}

/** What keeps a value from being a store as svc writes it, by the name of the member, never by its value. */
export function flawOf({ current, profiles }: Record<string, unknown>): string | undefined {
  if (current !== undefined && typeof current !== 'string') return 'current must be text';
  if (!isRecord(profiles)) return 'profiles must be an object';
  for (const [name, profile] of Object.entries(profiles)) {
    if (!isRecord(profile)) return `the profile ${JSON.stringify(name)} must be an object`;
    for (const [member, kind] of Object.entries(kinds)) {
      const value = Object.hasOwn(profile, member) ? profile[member] : undefined;
      if (value !== undefined && !isOf(kind, value)) return `${member} of ${JSON.stringify(name)} must be ${kind}`;
    }
  }
  return undefined;
}

/** True for what JSON calls an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isOf(kind: Kind, value: unknown): boolean {
  if (kind === 'text') return typeof value === 'string';
  const isRight = kind === 'a list of texts' ? Array.isArray(value) : isRecord(value);
  return isRight && Object.values(value ?? {}).every((item) => typeof item === 'string');
}
