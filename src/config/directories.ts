import { isAbsolute, join, resolve } from 'node:path';
import type { Runtime } from '../runtime.ts';

/** What the folders depend on. */
export type DirectoryContext = Pick<Runtime, 'env' | 'home' | 'platform' | 'cwd'>;

/** The folder of the profile store: SVC_CONFIG_DIR, else the platform's folder for configuration. */
export function configDirectory({ env, home, platform, cwd }: DirectoryContext): string {
  if (env.SVC_CONFIG_DIR) return resolve(cwd, env.SVC_CONFIG_DIR);
  if (platform === 'win32') return join(env.APPDATA || join(home, 'AppData', 'Roaming'), 'svc');
  return join(absolutePathOnly(env.XDG_CONFIG_HOME) ?? join(home, '.config'), 'svc');
}

/** The folder of the local service's data: SVC_DATA_DIR, else the platform's folder for application data. */
export function dataDirectory({ env, home, platform, cwd }: DirectoryContext): string {
  if (env.SVC_DATA_DIR) return resolve(cwd, env.SVC_DATA_DIR);
  if (platform === 'win32') return join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'svc');
  return join(absolutePathOnly(env.XDG_DATA_HOME) ?? join(home, '.local', 'share'), 'svc');
}

// A relative one is to be ignored (XDG Base Directory Specification): it would mean another folder wherever svc is started.
function absolutePathOnly(folder: string | undefined): string | undefined {
  return folder && isAbsolute(folder) ? folder : undefined;
}
