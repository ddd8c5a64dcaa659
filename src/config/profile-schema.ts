import { isRecord } from '../json/is-record.ts';
import type { Profile } from './profile.ts';
import { type Setting, type SettingKind, type StoredSettings, settings } from './settings.ts';

type JsonType = 'a string' | 'an array of strings' | 'an object of strings';

// The keys of a profile that are not settings.
const bindingTypes: { readonly [key in Exclude<keyof Required<Profile>, keyof StoredSettings>]: JsonType } = {
  password_key: 'a string',
  token_key: 'a string',
  basic_origins: 'an array of strings',
  bearer_origins: 'an array of strings',
  header_origins: 'an array of strings',
  basic_command_origins: 'an array of strings',
  bearer_command_origins: 'an array of strings',
};

/** The reason why a value is not a valid store: names the key and never shows its value. Unknown keys may be of a newer svc. */
export function profileStoreError({ current, profiles }: Record<string, unknown>): string | undefined {
  if (current !== undefined && typeof current !== 'string') return 'current must be a string';
  if (!isRecord(profiles)) return 'profiles must be an object';
  for (const [name, profile] of Object.entries(profiles)) {
    if (!isRecord(profile)) return `the profile ${JSON.stringify(name)} must be an object`;
    for (const [key, type] of keyTypes()) {
      const value = Object.hasOwn(profile, key) ? profile[key] : undefined;
      if (value !== undefined && !hasType(type, value)) return `${key} of ${JSON.stringify(name)} must be ${type}`;
    }
  }
  return undefined;
}

function keyTypes(): (readonly [key: string, type: JsonType])[] {
  const stored = settings.filter((setting: Setting) => setting.isStored);
  return [...stored.map(({ name, kind }) => [name, storedType(kind)] as const), ...Object.entries(bindingTypes)];
}

function storedType(kind: SettingKind): JsonType {
  if (kind === 'command') return 'an array of strings';
  return kind === 'headers' ? 'an object of strings' : 'a string';
}

function hasType(type: JsonType, value: unknown): boolean {
  if (type === 'a string') return typeof value === 'string';
  const isContainer = type === 'an array of strings' ? Array.isArray(value) : isRecord(value);
  return isContainer && Object.values(value ?? {}).every((item) => typeof item === 'string');
}
