import { commandTree } from '../command-tree.ts';

type HelpEntry = readonly [term: string, summary: string];

/** A part of a help page. Lines of code are command lines, or comments that begin with `# `. */
export interface HelpSection {
  readonly heading?: string;
  readonly paragraphs?: readonly string[];
  readonly entries?: readonly HelpEntry[];
  /** A summary that does not fit on the line of its term is reduced to its first clause. */
  readonly isBrief?: boolean;
  readonly code?: readonly string[];
}

// A narrower column leaves no room for explanations, which then start on a line of their own.
const MIN_SUMMARY_COLUMNS = 30;
const MAX_TERM_COLUMNS = 32;

/** A help page as text, wrapped to `columns`. */
export function renderHelp(sections: readonly HelpSection[], columns: number): string {
  const help = commandTree().configureHelp({ minWidthToWrap: 1 }).createHelp();
  const wrap = (text: string, start: string): string[] =>
    help
      .boxWrap(text, columns - start.length)
      .split('\n')
      .map((line) => start + line);
  return `${sections.map((section) => sectionLines(section, columns, wrap).join('\n')).join('\n\n')}\n`;
}

type Wrap = (text: string, start: string) => string[];

function sectionLines(section: HelpSection, columns: number, wrap: Wrap): string[] {
  const { heading, paragraphs = [], entries = [], isBrief = false, code = [] } = section;
  const indent = heading === undefined ? '' : '  ';
  return [
    ...(heading === undefined ? [] : [`${heading}:`]),
    ...paragraphs.flatMap((text, at) => [...(at > 0 ? [''] : []), ...wrap(text, indent)]),
    ...entryLines(entries, columns, isBrief, wrap),
    ...code.flatMap((line) => {
      if (line.length <= columns - 2) return [`  ${line}`];
      return line.startsWith('# ')
        ? wrap(line.slice(2), '  # ')
        : wrapCommand(line, columns - 2).map((one) => `  ${one}`);
    }),
  ];
}

function entryLines(entries: readonly HelpEntry[], columns: number, isBrief: boolean, wrap: Wrap): string[] {
  const room = Math.min(MAX_TERM_COLUMNS, columns - MIN_SUMMARY_COLUMNS - 4);
  const fitting = entries.map(([term]) => term.length).filter((length) => length <= room);
  const width = Math.max(0, ...fitting);
  const indent = ' '.repeat(fitting.length > 0 ? width + 4 : 6);
  return entries.flatMap(([term, summary]) => {
    const isShortened = isBrief && indent.length + summary.length > columns;
    const [first = '', ...more] = wrap(isShortened ? (summary.split(/;| \(/)[0] ?? '') : summary, indent);
    if (term.length > width) return [`  ${term}`, ...(summary === '' ? [] : [first, ...more])];
    return [`  ${term.padEnd(width)}  ${first.trimStart()}`.trimEnd(), ...more];
  });
}

// A command line as lines of at most `columns` characters that a shell reads as one: broken with backslashes between words
// and, if a word is too long, inside of quoted JSON, where line breaks mean nothing. A flag stays with its value, and what
// follows a pipe with the pipe.
function wrapCommand(line: string, columns: number): string[] {
  const pieces = commandPieces(line, columns - 4);
  const lines: string[] = [];
  for (const [at, { text, isInsideQuotes }] of pieces.entries()) {
    const last = lines.at(-1);
    const rest = pieces.slice(at).map((piece) => piece.text);
    const hasValue = text.startsWith('-') && rest[1] !== undefined && !rest[1].startsWith('-');
    const unit = text === '|' ? rest.join(' ') : rest.slice(0, hasValue ? 2 : 1).join(' ');
    const needed = unit.length <= columns - 4 ? unit : text;
    const joined = `${last}${isInsideQuotes ? '' : ' '}`;
    if (last === undefined) lines.push(text);
    else if (joined.length + needed.length + 2 <= columns) lines[lines.length - 1] = joined + text;
    else lines.splice(-1, 1, isInsideQuotes ? last : `${last} \\`, `  ${text}`);
  }
  return lines;
}

interface CommandPiece {
  readonly text: string;
  /** It continues the quoted word before it. */
  readonly isInsideQuotes: boolean;
}

function commandPieces(line: string, columns: number): CommandPiece[] {
  const words = line.match(/(?:'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'"])+/g) ?? [];
  return words.flatMap((word) => {
    const parts = word.length > columns && /^'[[{]/.test(word) ? word.split(/(?<=[{[,])(?=["{[])/) : [word];
    return parts.map((text, at) => ({ text, isInsideQuotes: at > 0 }));
  });
}

export function capitalizeSentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
