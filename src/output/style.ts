import { Chalk } from 'chalk';

export type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'cyan';

const chalk = new Chalk({ level: 1 });

/** The text in a style that any terminal with colours has. Line ends stay outside of the escape codes. */
export function paint(text: string, style: Style): string {
  return chalk[style](text);
}
