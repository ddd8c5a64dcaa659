import { version } from '../../version.ts';
import { rootHelpText, rootShortHelpText } from './root-help-text.ts';

/** The name and the version of the program. */
export const versionText = `svc ${version}`;

/** The output of `svc --version`, `svc --help` and `svc -h` at 80 columns; undefined for every other command line. */
export function rootText(argv: readonly string[]): string | undefined {
  if (argv.length !== 1) return undefined;
  switch (argv[0]) {
    case '-V':
    case '--version':
      return `${versionText}\n`;
    case '--help':
      return rootHelpText;
    case '-h':
      return rootShortHelpText;
    default:
      return undefined;
  }
}
