import { resolve } from 'node:path';
import { invalidValueFailure } from '../errors.ts';
import { joinWithOr } from '../fields/closest-match.ts';
import { hasFormat, stringFormats } from '../fields/string-formats.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import { parseBaseUrl } from './base-url.ts';
import { basicAuthorization } from './credentials/credential.ts';
import { parseCredentialCommand } from './credentials/credential-command.ts';
import { parseDurationMs } from './parse-duration.ts';
import type { Profile } from './profile.ts';
import { type Setting, settingFlagName, settings } from './settings.ts';

/** The value of a setting as profiles store it; paths become absolute. Throws usage, naming `label`, for an invalid text. */
export function readSettingValue(
  { kind, choices = [] }: Setting,
  text: string,
  label: string,
  cwd: string,
): string | readonly string[] {
  if (kind === 'command') return parseCredentialCommand(text, label, cwd);
  if (kind === 'file' || kind === 'directory') return resolve(cwd, text);
  if (kind === 'url') parseBaseUrl(text, label);
  if (kind === 'username') basicAuthorization(text, '');
  if (kind === 'duration') parseDurationMs(label, text);
  if (kind === 'count') parseCount(label, text);
  if (kind === 'project' && !hasFormat(text, 'project-id'))
    throw invalidValueFailure(label, text, stringFormats['project-id'].description);
  if (kind === 'choice' && !choices.includes(text)) throw invalidValueFailure(label, text, joinWithOr(choices));
  return text;
}

/** The number from 0 to 99 that a text is. Throws usage, naming `label`, for anything else. */
export function parseCount(label: string, text: string): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  throw invalidValueFailure(label, text, 'a number from 0 to 99');
}

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
