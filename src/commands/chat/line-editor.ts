import type { Buffer } from 'node:buffer';
import { createInterface, type Interface } from 'node:readline';
import { Transform, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Runtime } from '../../runtime.ts';

export interface LineEditor {
  /** The next text, which may have several lines: pasted, or between lines of `"""`. Undefined after Ctrl-D. */
  readonly read: () => Promise<string | undefined>;
  /** Sets the listener of Ctrl-C during a response. Ctrl-C discards what was typed by then; at the prompt it discards the line. */
  readonly onInterrupt: (listener: () => void) => void;
  readonly close: () => void;
}

const PROMPT = '> ';
const CONTINUATION_PROMPT = '. ';
const QUOTES = '"""';

/** Takes over the terminal until it is closed. `earlierTexts` are newest first; `complete` completes the last word of a line. */
export function openLineEditor(
  { stdin, stdout, env }: Pick<Runtime, 'stdin' | 'stdout' | 'env'>,
  earlierTexts: readonly string[],
  complete: (line: string) => Promise<[completions: string[], word: string]>,
): LineEditor {
  const submitted: string[] = [];
  let lines: string[] = [];
  // The texts that the arrow keys recall, newest first. Readline adds each line to `history`; a text is recalled as a whole.
  const texts = [...earlierTexts];
  const history = [...texts];
  let waiting: ((text: string | undefined) => void) | undefined;
  let onCtrlC = (): void => {};
  let isPasting = false;
  let isClosed = false;
  const paste = (text: string): void => {
    isPasting = true;
    editor.write(text);
    isPasting = false;
  };
  const canPaste = env.TERM !== 'dumb';
  const input = createPasteFilter(paste, (key) => canPaste && search(key));
  // Readline prints only while something is read, so that it does not mix with a response.
  const output = new Writable({
    write: (chunk, _, done) => {
      // At once, so that a buffered key is not dropped when the line ends.
      if (waiting) stdout.write(chunk);
      done();
    },
  });
  Object.defineProperty(output, 'columns', { get: () => stdout.columns });
  const onResize = (): void => void output.emit('resize');
  stdout.on('resize', onResize);
  // Readline leaves raw mode while Ctrl-Z stops the process; the shell must not get marks of pastes either.
  const setRawMode = (mode: boolean): void => {
    stdin.setRawMode?.(mode);
    if (canPaste) stdout.write(mode ? '\x1b[?2004h' : '\x1b[?2004l');
  };
  const editor = createInterface({
    input: Object.assign(stdin.pipe(input), { isTTY: true, setRawMode }),
    output,
    terminal: true,
    prompt: PROMPT,
    history,
    historySize: Number.POSITIVE_INFINITY,
    completer: (line, done) => void complete(line).then((result) => done(null, result)),
  });
  const search = createSearch(editor, texts, paste);
  const submit = (): void => {
    if (waiting && submitted.length > 0) {
      const resolve = waiting;
      waiting = undefined;
      resolve(submitted.shift());
    }
  };
  const showPrompt = (prompt: string): void => {
    editor.setPrompt(prompt);
    editor.prompt();
  };
  editor.on('line', (line) => {
    // Later versions of Node separate the lines of a recalled text by carriage returns.
    lines.push(line.replaceAll('\r', '\n'));
    history.splice(0, history.length, ...texts);
    if (isPasting) return;
    const text = completeText(lines);
    if (text === undefined) return showPrompt(CONTINUATION_PROMPT);
    lines = [];
    submitted.push(text.startsWith(QUOTES) ? text.trimEnd().slice(QUOTES.length, -QUOTES.length).trim() : text);
    if (text.trim() !== '' && text !== texts[0]) {
      texts.unshift(text);
      history.unshift(text);
    }
    submit();
  });
  editor.on('SIGINT', () => {
    if (waiting) stdout.write('^C (Ctrl-D ends the session)\n');
    lines = [];
    discardLine(editor);
    if (waiting) return showPrompt(PROMPT);
    // As a terminal does; each text would be another request.
    submitted.length = 0;
    onCtrlC();
  });
  // After a stop, readline pauses its input and expects the program to resume it.
  editor.on('SIGCONT', () => editor.resume());
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    stdin.unpipe(input);
    editor.close();
    stdin.pause();
    stdout.off('resize', onResize);
    waiting?.(undefined);
  };
  editor.on('close', close);
  return {
    read: () =>
      new Promise((resolve) => {
        if (isClosed && submitted.length === 0) return resolve(undefined);
        waiting = resolve;
        if (submitted.length > 0) {
          // Nothing was shown while it was typed.
          stdout.write(`${PROMPT}${submitted[0]}\n`);
          return submit();
        }
        editor.setPrompt(PROMPT);
        editor.prompt(true);
      }),
    onInterrupt: (listener) => {
      onCtrlC = listener;
    },
    close,
  };
}

function discardLine(editor: Interface): void {
  editor.write(null, { ctrl: true, name: 'e' });
  editor.write(null, { ctrl: true, name: 'u' });
}

const CTRL_G = '\x07';
const CTRL_R = '\x12';
const BACKSPACES: readonly string[] = ['\b', '\x7f'];

// Ctrl-R searches the earlier texts for what is typed next, and again for an older one. Any other key ends the search with the
// text that was found; Ctrl-G without one. Returns false for keys that readline handles.
function createSearch(editor: Interface, texts: readonly string[], paste: (text: string) => void) {
  let query: string | undefined;
  let found = '';
  let age = 0;
  let prompt = '';
  return (key: string): boolean => {
    if (query === undefined && key !== CTRL_R) return false;
    if (query === undefined) [query, age, prompt] = [editor.line, 0, editor.getPrompt()];
    else if (key === CTRL_R) age += 1;
    else if (BACKSPACES.includes(key)) [query, age] = [query.slice(0, -1), 0];
    else if (key >= ' ') [query, age] = [query + key, 0];
    else query = undefined;
    const wanted = query ?? '';
    const matches = wanted === '' ? [] : [...new Set(texts)].filter((text) => text.includes(wanted));
    discardLine(editor);
    editor.setPrompt(query === undefined ? prompt : `(search: ${wanted}) `);
    editor.prompt(true);
    if (query === undefined) {
      if (key !== CTRL_G) paste(found);
      found = '';
      return key === CTRL_G;
    }
    age = Math.max(0, Math.min(age, matches.length - 1));
    found = matches[age] ?? '';
    editor.write(found.replaceAll('\n', ' '));
    return true;
  };
}

// The text of some lines; undefined if it continues, after a backslash at the end, which this removes, or an open `"""`.
function completeText(lines: string[]): string | undefined {
  const text = lines.join('\n');
  const isClosed = text.length >= 2 * QUOTES.length && text.trimEnd().endsWith(QUOTES);
  if (text.startsWith(QUOTES) && !isClosed) return undefined;
  if (!text.endsWith('\\')) return text;
  lines.push((lines.pop() ?? '').slice(0, -1));
  return undefined;
}

const PASTE_START = '\x1b[200~';
const PASTE_END = '\x1b[201~';
// More at once is a paste at a terminal that does not mark pastes; key by key it would take seconds.
const MAX_TYPED_CHARS = 256;

// Passes keys on, unless `onKey` takes them. A pasted text arrives at once, without control characters, so that its line breaks submit nothing.
function createPasteFilter(onPaste: (text: string) => void, onKey: (key: string) => boolean): Transform {
  const decoder = new StringDecoder();
  let pasted: string | undefined;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      let text = decoder.write(chunk);
      while (text !== '' || pasted?.includes(PASTE_END)) {
        if (pasted === undefined) {
          const start = text.indexOf(PASTE_START);
          const typed = start === -1 ? text : text.slice(0, start);
          // Of several keys in one chunk, readline inserts all but the last at the end of the line, not at the cursor.
          for (const keys of typed.length > MAX_TYPED_CHARS ? [typed] : typed) if (!onKey(keys)) this.push(keys);
          if (start === -1) break;
          pasted = '';
          onKey(PASTE_START);
          text = text.slice(start + PASTE_START.length);
        }
        pasted += text;
        const end = pasted.indexOf(PASTE_END);
        if (end === -1) break;
        text = pasted.slice(end + PASTE_END.length);
        onPaste(
          pasted
            .slice(0, end)
            .replace(/\r\n?/g, '\n')
            .replace(/(?![\n\t])\p{Cc}/gu, ''),
        );
        pasted = undefined;
      }
      done();
    },
  });
}
