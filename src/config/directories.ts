import { isAbsolute, join, resolve } from 'node:path';
import type { Runtime } from '../runtime.ts';

export function configDirectory({ env, home, cwd }: Runtime): string {
  return env.SVC_CONFIG_DIR ? resolve(cwd, env.SVC_CONFIG_DIR) : xdgDirectory(env.XDG_CONFIG_HOME, home, '.config');
}

export function dataDirectory({ env, home, cwd }: Runtime): string {
  return env.SVC_DATA_DIR ? resolve(cwd, env.SVC_DATA_DIR) : xdgDirectory(env.XDG_DATA_HOME, home, '.local/share');
}

// Relative paths are ignored (XDG Base Directory Specification): they would change with the working directory.
function xdgDirectory(named: string | undefined, home: string, fallback: string): string {
  return join(named && isAbsolute(named) ? named : join(home, fallback), 'svc');
}
