import type { OutputStream, Runtime } from '../runtime.ts';

/**
 * True where color is wanted: as `--color` says, else never with NO_COLOR or FORCE_COLOR=0, always with FORCE_COLOR or CLICOLOR_FORCE (unless 0),
 * else on a terminal, unless it is dumb or CLICOLOR is 0.
 */
export function canUseColor({ isTTY }: OutputStream, env: Runtime['env'], mode = 'auto'): boolean {
  if (mode !== 'auto') return mode === 'always';
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0';
  if (env.CLICOLOR_FORCE && env.CLICOLOR_FORCE !== '0') return true;
  return isTTY === true && env.TERM !== 'dumb' && env.CLICOLOR !== '0';
}
