import { spawn } from 'node:child_process';
import type { Runtime } from '../runtime.ts';

/** Opens a URL in the program of BROWSER, else in the default browser. Returns the program's name if it cannot start. */
export function openBrowser(url: string, { env, platform, cwd }: Runtime): Promise<string | undefined> {
  const program = env.BROWSER || (platform === 'darwin' ? 'open' : 'xdg-open');
  return new Promise((resolve) => {
    // A browser passes its environment on to its children; credentials of services and databases are not for them.
    const isOwn = (name: string): boolean => /^(SVC_|PG)/i.test(name);
    const browserEnv = Object.fromEntries(Object.entries(env).filter(([name]) => !isOwn(name)));
    const child = spawn(program, [url], { env: browserEnv, cwd, stdio: 'ignore', detached: true });
    child.once('spawn', () => resolve(undefined)).once('error', () => resolve(program));
    child.unref();
  });
}
