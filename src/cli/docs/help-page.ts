/** A term with its explanation, as help lists flags and commands. */
export interface HelpEntry {
  readonly term: string;
  readonly summary: string;
}

/** A part of a help page. Paragraphs and entries are wrapped; lines of code are printed as they are. */
export interface HelpSection {
  readonly heading?: string;
  readonly paragraphs?: readonly string[];
  readonly entries?: readonly HelpEntry[];
  readonly code?: readonly string[];
}

// A narrower column leaves no room for explanations, which then start on a line of their own.
const MIN_SUMMARY_COLUMNS = 30;
const MAX_TERM_COLUMNS = 32;

/** A help page as text, wrapped to `columns`. */
export function renderHelp(sections: readonly HelpSection[], columns: number): string {
  return `${sections.map((section) => sectionLines(section, columns).join('\n')).join('\n\n')}\n`;
}

/** The lines of a section, its heading included. */
function sectionLines({ heading, paragraphs = [], entries = [], code = [] }: HelpSection, columns: number): string[] {
  const indent = heading === undefined ? '' : '  ';
  return [
    ...(heading === undefined ? [] : [`${heading}:`]),
    ...paragraphs.flatMap((text, at) => [...(at > 0 ? [''] : []), ...wrapText(text, columns, indent)]),
    ...entryLines(entries, columns),
    ...code.map((line) => `  ${line}`),
  ];
}

function entryLines(entries: readonly HelpEntry[], columns: number): string[] {
  const room = Math.min(MAX_TERM_COLUMNS, columns - MIN_SUMMARY_COLUMNS - 4);
  const fitting = entries.map(({ term }) => term.length).filter((length) => length <= room);
  const width = Math.max(0, ...fitting);
  const indent = ' '.repeat(fitting.length > 0 ? width + 4 : 6);
  return entries.flatMap(({ term, summary }) => {
    const [first = '', ...more] = wrapText(summary, columns, indent);
    if (term.length > width) return [`  ${term}`, ...(summary === '' ? [] : [first, ...more])];
    return [`  ${term.padEnd(width)}  ${first.trimStart()}`.trimEnd(), ...more];
  });
}

/** The lines of a text of at most `columns` characters; a longer word gets a line of its own. */
export function wrapText(text: string, columns: number, indent: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(indent + word);
  }
  return lines;
}

/** A command line broken with backslashes at spaces outside of quotes, to lines of at most `columns` characters. */
export function wrapCommand(line: string, columns: number): string[] {
  const words = line.match(/(?:'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'"])+/g) ?? [];
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 3 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(last === undefined ? word : `  ${word}`);
  }
  return lines.map((text, at) => (at < lines.length - 1 ? `${text} \\` : text));
}
