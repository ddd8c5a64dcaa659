import { Chalk } from 'chalk';
import type { Style } from './writer.ts';

const chalk = new Chalk({ level: 1 });

/** The text in a style that any terminal with colours has. Line ends stay outside of the escape codes. */
export function paint(text: string, style: Style): string {
  return chalk[style](text);
}
