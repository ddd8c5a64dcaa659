import { type Setting, settings } from '../../config/settings.ts';
import { exitCodes } from '../../errors.ts';

/** The environment variables svc reads, from the table of settings. An empty one counts as unset. */
export const environmentVariables: readonly (readonly [name: string, purpose: string])[] = settings.flatMap(
  ({ variable, summary, default: fallback }: Setting) =>
    variable ? [[variable, fallback === undefined ? summary : `${summary} (default: ${fallback})`] as const] : [],
);

/** The topics of `svc help` that are no commands. */
export const helpTopics: { readonly [name: string]: () => string } = {
  'exit-codes': () => {
    const rows = Object.values(exitCodes).map(
      ({ code, meaning, retry }) => [String(code).padStart(4), meaning, retry] as const,
    );
    return rows
      .map(([code, meaning, again]) => `${code}  ${meaning}${again ? `\n      run again: ${again}` : ''}\n`)
      .join('');
  },
  environment: () => {
    const widest = Math.max(...environmentVariables.map(([name]) => name.length));
    return environmentVariables.map(([name, purpose]) => `${name.padEnd(widest)}  ${purpose}\n`).join('');
  },
};
