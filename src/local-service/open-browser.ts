import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dataDirectory } from '../config/environment.ts';
import { makeDirectory } from '../files/file-replacement.ts';
import type { Runtime } from '../runtime.ts';

/** Opens a URL or a file in the program of BROWSER, else in the default browser. Returns the program's name if it cannot start. */
export function openBrowser(target: string, { env, platform, cwd }: Runtime): Promise<string | undefined> {
  const program = env.BROWSER || (platform === 'darwin' ? 'open' : 'xdg-open');
  return new Promise((resolve) => {
    // A browser passes its environment on to its children; credentials of services and databases are not for them.
    const isOwn = (name: string): boolean => /^(SVC_|PG)/i.test(name);
    const browserEnv = Object.fromEntries(Object.entries(env).filter(([name]) => !isOwn(name)));
    const child = spawn(program, [target], { env: browserEnv, cwd, stdio: 'ignore', detached: true });
    child.once('spawn', () => resolve(undefined)).once('error', () => resolve(program));
    child.unref();
  });
}

/** A file (0600) that redirects to a link, because every user can read the arguments of a program. Throws if it cannot be written. */
export async function writeRedirect(link: string, runtime: Runtime) {
  const directory = dataDirectory(runtime);
  const path = join(directory, `open-${Buffer.from(runtime.randomBytes(8)).toString('hex')}.html`);
  await makeDirectory(directory, 0o700);
  await writeFile(path, `<!doctype html>\n<meta http-equiv="refresh" content="0; url=${link}">\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  return { path, remove: (): Promise<void> => rm(path, { force: true }).catch(() => {}) };
}
