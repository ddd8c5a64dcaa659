import { Chalk } from 'chalk';

/** A style of text; `json` colors keys, strings, numbers and literals. */
export type TextStyle = 'bold' | 'dim' | 'red' | 'yellow' | 'cyan' | 'json';

const chalk = new Chalk({ level: 1 });

/** The text in a style that any terminal with colors has. Line ends stay outside of the escape codes. */
export function applyStyle(text: string, style: TextStyle): string {
  return style === 'json' ? highlightJson(text) : chalk[style](text);
}

function highlightJson(text: string): string {
  const token = /"|-?\d[\d.eE+-]*|true|false|null/g;
  let out = '';
  let end = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    out += text.slice(end, match.index);
    end = match[0] === '"' ? stringEnd(text, match.index) : token.lastIndex;
    token.lastIndex = end;
    out += chalk[tokenColor(match[0], text, end)](text.slice(match.index, end));
  }
  return out + text.slice(end);
}

// Found step by step: a regular expression for a whole string overflows the stack when it is long.
function stringEnd(text: string, start: number): number {
  const special = /\\.|"/gs;
  special.lastIndex = start + 1;
  for (let match = special.exec(text); match; match = special.exec(text))
    if (match[0] === '"') return special.lastIndex;
  return text.length;
}

function tokenColor(token: string, text: string, end: number): 'cyan' | 'green' | 'yellow' | 'magenta' {
  if (token === '"') return text[end] === ':' ? 'cyan' : 'green';
  return /^[-\d]/.test(token) ? 'yellow' : 'magenta';
}
