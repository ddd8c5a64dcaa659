import type { Profile, ProfileStore } from './profile.ts';

type ProfileFieldType = 'text' | 'a list of texts' | 'an object of texts';

// What each member of a profile is. Members that are not here may come from a newer svc, and stay as they are.
const profileFieldTypes: { readonly [member in keyof Required<Profile>]: ProfileFieldType } = {
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
export function isProfileStore(store: Record<string, unknown>): store is Record<string, unknown> & ProfileStore {
  return profileStoreError(store) === undefined;
}

/** What keeps a value from being a store as svc writes it, by the name of the member, never by its value. */
export function profileStoreError({ current, profiles }: Record<string, unknown>): string | undefined {
  if (current !== undefined && typeof current !== 'string') return 'current must be text';
  if (!isRecord(profiles)) return 'profiles must be an object';
  for (const [name, profile] of Object.entries(profiles)) {
    if (!isRecord(profile)) return `the profile ${JSON.stringify(name)} must be an object`;
    for (const [field, type] of Object.entries(profileFieldTypes)) {
      const value = Object.hasOwn(profile, field) ? profile[field] : undefined;
      if (value !== undefined && !hasFieldType(type, value))
        return `${field} of ${JSON.stringify(name)} must be ${type}`;
    }
  }
  return undefined;
}

/** True for what JSON calls an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasFieldType(type: ProfileFieldType, value: unknown): boolean {
  if (type === 'text') return typeof value === 'string';
  const isContainer = type === 'a list of texts' ? Array.isArray(value) : isRecord(value);
  return isContainer && Object.values(value ?? {}).every((item) => typeof item === 'string');
}
