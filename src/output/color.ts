import type { OutputStream, Runtime } from '../runtime.ts';

/** True where colours are wanted: on a terminal, unless NO_COLOR says otherwise or FORCE_COLOR asks for them anywhere. */
export function canUseColor({ isTTY }: OutputStream, env: Runtime['env']): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0';
  return isTTY === true && env.TERM !== 'dumb';
}
