import { resolve } from 'node:path';
import { usageFailure } from '../errors.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import { parseBaseUrl } from './base-url.ts';
import { basicAuthorization } from './credentials/credential.ts';
import { parseCredentialCommand } from './credentials/credential-command.ts';
import { parseDurationMs } from './parse-duration.ts';
import type { Profile } from './profile.ts';

/** Settings and their new values; empty for one that is to go. */
export type ProfileChanges = { readonly [setting: string]: string | readonly string[] };

type FlagReader = (text: string, flag: string, cwd: string) => string | readonly string[];

const readBaseUrl: FlagReader = (text, flag) => {
  parseBaseUrl(text, flag);
  return text;
};

// How the value of each flag is read, once it is not empty. All of them throw for a malformed one.
const flagReaders: { readonly [setting: string]: FlagReader } = {
  base_url: readBaseUrl,
  trace_base_url: readBaseUrl,
  chat_base_url: readBaseUrl,
  train_base_url: readBaseUrl,
  username: (text) => {
    basicAuthorization(text, '');
    return text;
  },
  credential_command: parseCredentialCommand,
  cacert: (text, _, cwd) => resolve(cwd, text),
  timeout: (text, flag) => {
    parseDurationMs(flag, text);
    return text;
  },
  retries: (text, flag) => {
    if (/^\d{1,2}$/.test(text)) return text;
    throw usageFailure(`${flag} cannot be ${JSON.stringify(text)}`, 'write a number from 0 to 99');
  },
  project_id: (text) => text,
  model: (text) => text,
};

/** The settings flags give, checked; paths become absolute. Throws usage for a malformed one. */
export function readProfileChanges(flags: FlagValues, cwd: string): ProfileChanges {
  const entries = Object.entries(flagReaders).flatMap(([setting, read]) => {
    const name = setting.replaceAll('_', '-');
    const text = getStringFlag(flags, name);
    return text === undefined ? [] : [[setting, text === '' ? text : read(text, `--${name}`, cwd)] as const];
  });
  return Object.fromEntries(entries);
}

/** A profile with some settings changed; those that became empty are gone. */
export function applyProfileChanges(profile: Profile, changes: ProfileChanges): Profile {
  return Object.fromEntries(Object.entries({ ...profile, ...changes }).filter(([, value]) => value !== ''));
}
