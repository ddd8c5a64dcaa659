import { version } from '../../version.ts';
import { rootHelpText } from './root-help-text.ts';

/** What `svc --version` and `svc --help` print; undefined for every other command line. Nothing has to be read for it. */
export function rootText(argv: readonly string[], columns: number): string | undefined {
  if (argv.length !== 1) return undefined;
  if (argv[0] === '-V' || argv[0] === '--version') return `${versionText}\n`;
  return argv[0] === '-h' || argv[0] === '--help' ? rootHelp(columns) : undefined;
}

/** The name and the version of the program. */
export const versionText = `svc ${version}`;

/** The help of the whole program: every command on a line, which is cut where it is longer than `columns`. */
export function rootHelp(columns: number): string {
  return rootHelpText.replace(/^ .*$/gm, (line) => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line));
}
