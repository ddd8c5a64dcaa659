import { allCommands } from '../../src/cli/all-commands.ts';

const names = [...allCommands].map(({ name }) => name).sort((one, other) => other.length - one.length);

const placeholders: readonly (readonly [RegExp, string])[] = [
  [/"<prompt>"|<prompt>/g, 'hi'],
  [/<url>|<final URL>|(?<=-url )\.\.\./g, 'https://api.example.com'],
  [/<operation>|<command>/g, 'chat'],
  [/<n>/g, '1'],
  [/<files?>/g, 'x.jsonl'],
  [/<entity\/project>/g, 'a/b'],
  [/<duration>/g, '2m'],
  [/<(\w+)\|[^<>]*>/g, '$1'],
  [/<[^<>]*>|\.\.\.|…|\bNAME\b/g, 'x'],
];

/** The words of a command in a text, with its placeholders filled in; ends where a sentence or a shell goes on. */
function wordsOf(text: string): string[] {
  const filled = placeholders.reduce((before, [pattern, value]) => before.replace(pattern, value), text);
  const words: string[] = [];
  for (const [token] of filled.matchAll(/\s+|(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+|['"]/g)) {
    if (/^\s/.test(token)) continue;
    if (/^(?:\||\|\||&&?|;|#.*|\d?>{1,2}.*|<.*|\(.*|or|and|to|in|ends|sends|stores)$/.test(token)) break;
    const end = /[,;)]+$/.test(token) || (token.endsWith('.') && !token.startsWith("'"));
    const word = token.replace(/[,;:)]+$/, '').replace(/'([^']*)'|"((?:\\.|[^"\\])*)"/g, '$1$2');
    words.push(end ? word.replace(/\.$/, '') : word);
    if (end) break;
  }
  return words;
}

/** Each command that a text names, as the words after `svc`, with its placeholders filled in. */
export function commandsIn(text: string): string[][] {
  const starts = [...text.matchAll(/(?<![\w./-])svc (?=[a-z-])/g)];
  return starts.flatMap(({ index }) => {
    const words = wordsOf(text.slice(index + 4));
    const isCommand =
      names.some((name) => ` ${words.join(' ')} `.startsWith(` ${name} `)) || words[0]?.startsWith('--');
    return isCommand ? [words] : [];
  });
}

/** Whether words are the name of a command and nothing else. */
export function isCommandName(words: readonly string[]): boolean {
  return names.includes(words.join(' '));
}
