import { resolve } from 'node:path';
import { usage } from '../errors.ts';
import { type FlagValues, textOf } from '../fields/flag.ts';
import { parseBaseUrl } from '../profiles/base-url.ts';
import { basicAuthorization } from '../profiles/credential.ts';
import { parseCommand } from '../profiles/credential-command.ts';
import type { Profile } from '../profiles/profile.ts';
import { readDuration } from './duration.ts';

/** Settings and their new values; empty for one that is to go. */
export type Settings = { readonly [setting: string]: string | readonly string[] };

type Read = (text: string, flag: string, cwd: string) => string | readonly string[];

const address: Read = (text, flag) => {
  parseBaseUrl(text, flag);
  return text;
};

// How the value of each flag is read, once it is not empty. All of them throw for a malformed one.
const readers: { readonly [setting: string]: Read } = {
  base_url: address,
  trace_base_url: address,
  chat_base_url: address,
  train_base_url: address,
  username: (text) => {
    basicAuthorization(text, '');
    return text;
  },
  credential_command: parseCommand,
  cacert: (text, _, cwd) => resolve(cwd, text),
  timeout: (text, flag) => {
    readDuration(flag, text);
    return text;
  },
  retries: (text, flag) => {
    if (/^\d{1,2}$/.test(text)) return text;
    throw usage(`${flag} cannot be ${JSON.stringify(text)}`, 'write a number from 0 to 99');
  },
  project_id: (text) => text,
  model: (text) => text,
};

/** The settings flags give, checked; paths become absolute. Throws usage for a malformed one. */
export function readSettings(flags: FlagValues, cwd: string): Settings {
  const given = Object.entries(readers).flatMap(([setting, read]) => {
    const name = setting.replaceAll('_', '-');
    const text = textOf(flags, name);
    return text === undefined ? [] : [[setting, text === '' ? text : read(text, `--${name}`, cwd)] as const];
  });
  return Object.fromEntries(given);
}

/** A profile with some settings changed; those that became empty are gone. */
export function changed(profile: Profile, changes: Settings): Profile {
  return Object.fromEntries(Object.entries({ ...profile, ...changes }).filter(([, value]) => value !== ''));
}
