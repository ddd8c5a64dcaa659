import { readFileSync } from 'node:fs';

/** The output of `svc --version --json`: version, commit (null if the build knew none), bundled libraries, and Node. */
export function versionJson(node: string): string {
  const built: object = JSON.parse(readFileSync(new URL('version.json', import.meta.url), 'utf8'));
  return `${JSON.stringify({ ...built, node }, null, 2)}\n`;
}
