import { invalidValueFailure } from '../errors.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import type { Runtime } from '../runtime.ts';
import type { Profile } from './profile.ts';
import type { ProjectSettings } from './project-file.ts';
import { findSetting, type SettingName, settingFlagName } from './settings.ts';

/** The sources of settings, in order of precedence. */
export interface SettingSources {
  readonly flags?: FlagValues;
  readonly env: Runtime['env'];
  readonly project?: ProjectSettings | undefined;
  readonly selected: { readonly name: string; readonly profile: Profile };
}

/**
 * The text of a setting, unchecked, from flag, environment, project file or profile, in this order; undefined if unset or
 * empty. `source` is `--timeout`, `SVC_TIMEOUT`, `/repo/.svc.json` or `profile "work"`; `label` also names the key in a file.
 */
export function resolveSetting(
  name: SettingName,
  { flags = new Map(), env, project, selected }: SettingSources,
): { readonly text: string; readonly source: string; readonly label: string } | undefined {
  const setting = findSetting(name);
  const flag = settingFlagName(setting);
  const { variable = '' } = setting;
  const profileSource = `profile "${selected.name}"`;
  const stored = new Map<string, unknown>(Object.entries(selected.profile)).get(name);
  const candidates: readonly (readonly [source: string, label: string, value: unknown])[] = [
    [`--${flag}`, `--${flag}`, setting.flag && getStringFlag(flags, flag)],
    [variable, variable, env[variable]],
    [project?.path ?? '', `${name} in ${project?.path}`, setting.isProject && project?.values.get(name)],
    [profileSource, `${name} of ${profileSource}`, setting.isStored && stored],
  ];
  for (const [source, label, value] of candidates)
    if (typeof value === 'string' && value !== '') return { text: value, source, label };
  return undefined;
}

/** The value of a setting from the environment alone; undefined if unset or empty. */
export function environmentSetting(name: SettingName, env: Runtime['env']): string | undefined {
  return env[findSetting(name).variable ?? ''] || undefined;
}

export type HistoryMode = 'off' | 'on' | 'bodies';

/** The mode of the history that SVC_HISTORY or the profile sets; `1` is `on`. Throws usage for any other value. */
export function resolveHistoryMode(sources: SettingSources): HistoryMode | undefined {
  const { text, label = '' } = resolveSetting('history', sources) ?? {};
  if (text === undefined || text === 'off' || text === 'on' || text === 'bodies') return text;
  if (text === '0' || text === '1') return text === '1' ? 'on' : 'off';
  throw invalidValueFailure(label, text, 'off, on or bodies');
}
