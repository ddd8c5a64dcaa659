import { isAbsolute, join, resolve } from 'node:path';
import type { Runtime } from '../runtime.ts';

/** The directory of the profile store: SVC_CONFIG_DIR, else that of the XDG Base Directory Specification. */
export function configDirectory({ env, home, cwd }: Runtime): string {
  if (env.SVC_CONFIG_DIR) return resolve(cwd, env.SVC_CONFIG_DIR);
  return join(absolutePathOnly(env.XDG_CONFIG_HOME) ?? join(home, '.config'), 'svc');
}

/** The directory of the local service's data: SVC_DATA_DIR, else that of the XDG Base Directory Specification. */
export function dataDirectory({ env, home, cwd }: Runtime): string {
  if (env.SVC_DATA_DIR) return resolve(cwd, env.SVC_DATA_DIR);
  return join(absolutePathOnly(env.XDG_DATA_HOME) ?? join(home, '.local', 'share'), 'svc');
}

// Relative paths are ignored (XDG Base Directory Specification): they would change with the working directory.
function absolutePathOnly(path: string | undefined): string | undefined {
  return path && isAbsolute(path) ? path : undefined;
}
