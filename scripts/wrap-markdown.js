// Wraps the paragraphs and list items of Markdown files in which a line is too long. Usage: node scripts/wrap-markdown.js FILE...
import { readFileSync, writeFileSync } from 'node:fs';

const WIDTH = 120;
const isOutsideOfProse = /^\s*(?:```|$)|^ {4,}\S|^[|#<!]/;
const startsBlock = /^\s*(?:(?:[-*]|\d+\.) |```|$)|^[|#<]/;

for (const path of process.argv.slice(2)) {
  const text = readFileSync(path, 'utf8');
  const wrapped = wrapDocument(text.split('\n')).join('\n');
  if (wrapped !== text) writeFileSync(path, wrapped);
}

function wrapDocument(lines) {
  const result = [];
  let isCode = false;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    if (/^\s*```/.test(line)) isCode = !isCode;
    let end = at + 1;
    const isProse = !isCode && !isOutsideOfProse.test(line);
    while (isProse && end < lines.length && !startsBlock.test(lines[end])) end += 1;
    const block = lines.slice(at, end);
    result.push(...(isProse && block.some((one) => one.length > WIDTH) ? wrapBlock(block) : block));
    at = end;
  }
  return result;
}

// Neither spans of code nor links are divided.
function wrapBlock(block) {
  const [lead = ''] = /^\s*(?:(?:[-*]|\d+\.) )?/.exec(block[0]) ?? [];
  const text = [block[0].slice(lead.length), ...block.slice(1)].map((line) => line.trim()).join(' ');
  const words = text.match(/(?:`[^`]*`|\S)+/g) ?? [];
  const lines = [lead + (words.shift() ?? '')];
  for (const word of words) {
    const last = lines.length - 1;
    if (lines[last].length + 1 + word.length > WIDTH) lines.push(' '.repeat(lead.length) + word);
    else lines[last] += ` ${word}`;
  }
  return lines;
}
