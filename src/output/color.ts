import type { OutputStream, Runtime } from '../runtime.ts';

/**
 * Whether to use color: as `--color` says; otherwise never with NO_COLOR or FORCE_COLOR=0, always with FORCE_COLOR or
 * CLICOLOR_FORCE (unless 0), and by default on a terminal that is not dumb, unless CLICOLOR is 0.
 */
export function canUseColor({ isTTY }: OutputStream, env: Runtime['env'], mode = 'auto'): boolean {
  if (mode !== 'auto') return mode === 'always';
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0';
  if (env.CLICOLOR_FORCE && env.CLICOLOR_FORCE !== '0') return true;
  return isTTY === true && env.TERM !== 'dumb' && env.CLICOLOR !== '0';
}
