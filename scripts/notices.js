import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The licenses of packages. Throws if one has none. */
export function noticesOf(packages) {
  return packages.map(notice).join(`\n${'-'.repeat(80)}\n\n`);
}

function notice({ directory, name, version, license }) {
  const file = readdirSync(directory).find((entry) => /^licen[cs]e/i.test(entry));
  // Public domain: there is no copyright notice that would have to be kept.
  if (!file && license === 'Unlicense') return `${name} ${version} (Unlicense, https://unlicense.org)\n`;
  if (!file) throw new Error(`${name} has no license that could be shipped`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(directory, file), 'utf8').trim()}\n`;
}
