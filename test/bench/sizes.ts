import { execFileSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The sizes of the package and of an installation in bytes. */
export type Sizes = { readonly [what: string]: number };

/** Packs svc and installs it into an empty directory, without scripts. Throws if that fails. */
export function sizes(root: string): Sizes {
  const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  try {
    const npm = (cwd: string, ...args: string[]): string =>
      execFileSync('npm', [...args, '--ignore-scripts', '--silent'], { cwd, encoding: 'utf8' });
    const [{ filename, size }]: [{ filename: string; size: number }] = JSON.parse(
      npm(root, 'pack', '--json', '--pack-destination', directory),
    );
    npm(
      directory,
      'install',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      '--prefix',
      directory,
      join(directory, filename),
    );
    const files = readdirSync(join(directory, 'node_modules'), { recursive: true, encoding: 'utf8' }).map((name) => {
      const stat = lstatSync(join(directory, 'node_modules', name));
      return { isNative: name.endsWith('.node'), bytes: stat.isFile() ? stat.size : 0 };
    });
    const sum = (isNative: boolean): number =>
      files.filter((file) => file.isNative === isNative).reduce((all, { bytes }) => all + bytes, 0);
    return { packed: size, 'installed, without native code': sum(false), 'native code': sum(true) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
