import { Buffer } from 'node:buffer';
import { Chalk } from 'chalk';
import { COLON } from '../json/json-bytes.ts';
import { tokenEnd } from '../json/write-json.ts';

export type TextStyle = 'bold' | 'dim' | 'red' | 'yellow' | 'cyan' | 'json';

const chalk = new Chalk({ level: 1 });

export function applyStyle(text: string, style: TextStyle): string {
  return style === 'json' ? highlightJson(text) : chalk[style](text);
}

function highlightJson(text: string): string {
  const bytes = Buffer.from(text);
  let out = '';
  for (let at = 0, end = 0; at < bytes.length; at = end) {
    end = tokenEnd(bytes, at);
    const token = bytes.toString('utf8', at, end);
    if (token.startsWith('"')) out += bytes[end] === COLON ? chalk.cyan(token) : chalk.green(token);
    else out += /^[-\d]/.test(token) ? chalk.yellow(token) : /^[a-z]/.test(token) ? chalk.magenta(token) : token;
  }
  return out;
}
