import { resolve } from 'node:path';
import { usageFailure } from '../errors.ts';
import { hasFormat, stringFormats } from '../fields/string-formats.ts';
import { parseBaseUrl } from './base-url.ts';
import { basicAuthorization } from './credentials/credential.ts';
import { parseCredentialCommand } from './credentials/credential-command.ts';
import { parseDurationMs } from './parse-duration.ts';
import type { Setting, SettingKind } from './settings.ts';

/** The value of a setting as profiles store it; paths become absolute. Throws usage, naming `label`, for an invalid text. */
export function readSettingValue(
  { kind, choices = [] }: Setting,
  text: string,
  label: string,
  cwd: string,
): string | readonly string[] {
  switch (kind) {
    case 'url':
      parseBaseUrl(text, label);
      return text;
    case 'username':
      basicAuthorization(text, '');
      return text;
    case 'project':
      if (hasFormat(text, 'project-id')) return text;
      throw usageFailure(
        `${label} cannot be ${JSON.stringify(text)}`,
        `use ${stringFormats['project-id'].description}`,
      );
    case 'command':
      return parseCredentialCommand(text, label, cwd);
    case 'file':
    case 'directory':
      return resolve(cwd, text);
    case 'duration':
      parseDurationMs(label, text);
      return text;
    case 'count':
      parseCount(label, text);
      return text;
    case 'choice':
      if (choices.includes(text)) return text;
      throw usageFailure(`${label} cannot be ${JSON.stringify(text)}`, `use ${choices.join(', ')}`);
    default:
      return text;
  }
}

/** The number from 0 to 99 that a text is. Throws usage, naming `label`, for anything else. */
export function parseCount(label: string, text: string): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  throw usageFailure(`${label} cannot be ${JSON.stringify(text)}`, 'use a number from 0 to 99');
}

/** The JSON type of a kind in the profile file. */
export function storedType(kind: SettingKind): 'string' | 'array of strings' | 'object of strings' {
  if (kind === 'command') return 'array of strings';
  return kind === 'headers' ? 'object of strings' : 'string';
}
