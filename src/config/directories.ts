import { isAbsolute, join, resolve } from 'node:path';
import type { Runtime } from '../runtime.ts';
import { environmentSetting, type SettingName } from './settings.ts';

export function configDirectory(runtime: Runtime): string {
  return ownDirectory('config_dir', 'xdg_config_home', '.config', runtime);
}

export function dataDirectory(runtime: Runtime): string {
  return ownDirectory('data_dir', 'xdg_data_home', '.local/share', runtime);
}

// Relative parents are ignored (XDG Base Directory Specification): they would change with the working directory.
function ownDirectory(own: SettingName, parent: SettingName, fallback: string, { env, home, cwd }: Runtime): string {
  const [directory, named] = [environmentSetting(own, env), environmentSetting(parent, env)];
  if (directory) return resolve(cwd, directory);
  return join(named && isAbsolute(named) ? named : join(home, fallback), 'svc');
}
