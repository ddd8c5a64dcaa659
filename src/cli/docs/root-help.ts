import { version } from '../../version.ts';
import { rootHelpText, rootShortHelpText } from './root-help-text.ts';

const texts = new Map([
  ['-V', `svc ${version}\n`],
  ['--version', `svc ${version}\n`],
  ['-h', rootShortHelpText],
  ['--help', rootHelpText],
]);

/** The output of `svc --version`, `svc --help` and `svc -h` at 80 columns; undefined for every other command line. */
export function rootText([word = '', ...more]: readonly string[], docs: string): string | undefined {
  return more.length === 0 ? texts.get(word)?.replace('{docs}', docs) : undefined;
}
