import { type Setting, settings } from '../../config/settings.ts';

/** The environment variables that svc reads, from the table of settings. An empty variable counts as unset. */
export const environmentVariables: readonly (readonly [name: string, purpose: string])[] = settings.flatMap(
  ({ variable, summary, default: fallback }: Setting) =>
    variable ? [[variable, fallback === undefined ? summary : `${summary} (default: ${fallback})`] as const] : [],
);
