import type { OutputStream } from '../runtime.ts';
import { displayWidth } from './format-rows.ts';

// Terminals disagree about the width of these.
const UNCERTAIN_WIDTH = /[\p{M}\p{Cf}\p{Extended_Pictographic}\p{Regional_Indicator}]/u;
const TAB_COLUMNS = 8;

/**
 * Breaks lines between words, for a text that arrives in parts: a word that turns out not to fit is erased and begins the next
 * line. Lines of fenced code blocks, and the rest of a line after a character of uncertain width, are wrapped by the terminal.
 */
export function createWordWrap({ columns: width }: Pick<OutputStream, 'columns'>) {
  // A terminal without a size has 0 columns.
  const columns = width || Number.POSITIVE_INFINITY;
  let column = 0;
  let word = '';
  let wordColumn = 0;
  let lineStart = '';
  let isCode = false;
  let isCertain = true;
  const layOutCharacter = (character: string): string => {
    if (character === '\n') {
      [column, word, wordColumn, lineStart, isCertain] = [0, '', 0, '', true];
      return character;
    }
    if (lineStart.length < 3) {
      lineStart = (lineStart + character).trimStart();
      if (lineStart === '```') isCode = !isCode;
    }
    isCertain &&= !UNCERTAIN_WIDTH.test(character);
    if (isCode || !isCertain) return character;
    if (character === ' ' || character === '\t') {
      const isShown = column < columns;
      if (isShown) column = character === ' ' ? column + 1 : column - (column % TAB_COLUMNS) + TAB_COLUMNS;
      [word, wordColumn] = ['', column];
      return isShown ? character : '';
    }
    const characterWidth = displayWidth(character);
    column += characterWidth;
    if (column <= columns) {
      word += character;
      // A line of Chinese or Japanese text can break after each character.
      if (characterWidth === 2) [word, wordColumn] = ['', column];
      return character;
    }
    // A word that is longer than a line is wrapped by the terminal.
    const moved = wordColumn === 0 ? undefined : word + character;
    const erase = word === '' ? '' : `\x1b[${wordColumn + 1}G\x1b[K`;
    [word, wordColumn, column] = [moved ?? '', 0, displayWidth(moved ?? character)];
    return moved === undefined ? character : `${erase}\n${moved}`;
  };
  return (text: string): string => Array.from(text, layOutCharacter).join('');
}
