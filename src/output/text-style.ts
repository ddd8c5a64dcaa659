import { Chalk } from 'chalk';

export type TextStyle = 'bold' | 'dim' | 'red' | 'yellow' | 'cyan';

const chalk = new Chalk({ level: 1 });

/** The text in a style that any terminal with colours has. Line ends stay outside of the escape codes. */
export function applyStyle(text: string, style: TextStyle): string {
  return chalk[style](text);
}
