import type { Buffer } from 'node:buffer';

const SAVE_AS_CSV = 'save it as CSV';
const SAVE_AS_TEXT = 'save it as plain text';
const ATTACH = 'in a chat, write --attach <file>';

// What a file is by its first bytes in hex digits and its text, and the next step. Bytes that a prompt could begin with need more.
const formats: readonly (readonly [start: string, text: RegExp, name: string, hint: string])[] = [
  ['25504446', /^%PDF-\d/, 'a PDF file', 'extract its text, for example with pdftotext'],
  ['504b0304', /mimetypeapplication\/vnd\.oasis/, 'an OpenDocument file (.ods)', SAVE_AS_CSV],
  ['504b0304', /word\//, 'a document (.docx)', SAVE_AS_TEXT],
  ['504b0304', /ppt\//, 'a presentation (.pptx)', SAVE_AS_TEXT],
  ['504b0304', /\[Content_Types\]|_rels\/|docProps\/|xl\//, 'a spreadsheet (.xlsx)', SAVE_AS_CSV],
  ['d0cf11e0', /^/, 'a spreadsheet (.xls)', SAVE_AS_CSV],
  ['7b5c727466', /^/, 'a document (.rtf)', SAVE_AS_TEXT],
  ['50415231', /^/, 'a Parquet file', SAVE_AS_CSV],
  ['504b03', /^/, 'a zip archive', 'unpack it with unzip, and name the file in it'],
  ['504b05', /^/, 'an empty zip archive', 'name a file of rows'],
  ['1f8b', /^/, 'compressed with gzip', 'decompress it with gunzip'],
  ['fd377a585a', /^/, 'compressed with xz', 'decompress it with unxz'],
  ['425a68', /^BZh[1-9]1AY/, 'compressed with bzip2', 'decompress it with bunzip2'],
  ['28b52ffd', /^/, 'compressed with zstd', 'decompress it with unzstd'],
  ['53514c697465', /^SQLite format 3\0/, 'an SQLite database', 'export a table of it as CSV'],
  [
    '76657273696f6e20',
    /^version https:\/\/git-lfs[^\n]*\n(?:\S+ [^\n]*\n)*size \d+\n?$/,
    'a Git LFS pointer',
    'run: git lfs pull',
  ],
  ['89504e47', /^/, 'an image', ATTACH],
  ['ffd8ff', /^/, 'an image', ATTACH],
  ['47494638', /^GIF8[79]a.{0,6}\0/s, 'an image', ATTACH],
];

/** The format of a file that is not text, or a pointer to one, by its first kilobyte, and the next step; undefined for other bytes. */
export function foreignFormat(head: Buffer): { readonly name: string; readonly hint: string } | undefined {
  const [hex, text] = [head.toString('hex', 0, 8), head.toString('latin1', 0, 1024)];
  const [, , name, hint] = formats.find(([start, pattern]) => hex.startsWith(start) && pattern.test(text)) ?? [];
  if (name !== undefined && hint !== undefined) return { name, hint };
  return isBinary(head) ? { name: 'a binary file', hint: 'name a file of text' } : undefined;
}

// No text but that of UTF-16 and UTF-32 has both zero bytes and bytes that are not UTF-8.
function isBinary(head: Buffer): boolean {
  const start = head.subarray(0, 1024);
  if (!start.includes(0) || /^(?:0000)?(?:fffe|feff)/.test(start.toString('hex', 0, 4))) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: true });
    return false;
  } catch {
    return true;
  }
}

// Text that is not JSON Lines, by the name of the file or by its first characters, and what converts it.
const textFormats: readonly (readonly [path: RegExp, start: RegExp, name: string, command: string])[] = [
  [/\.ya?ml$/i, /^(?:---\s|- [\w-]+:\s)/, 'YAML', 'yq -o=json -I=0'],
  [/\.toml$/i, /^\[+(?!true|false|null)[a-z_][\w.-]*\]+\s*\n/i, 'TOML', ''],
  [/\.xml$/i, /^<\?xml/i, 'XML', ''],
  [/\.html?$/i, /^<(?:!doctype|html)\b/i, 'HTML', ''],
  [/^$/, /^\[/, 'a JSON array', 'jq -c'],
];

/** What text is whose first lines are no objects of JSON, and the next step; `file` is its name for a shell. */
export function otherTextFormat(path: string, text: string, file: string) {
  if (/^[{"]/.test(text)) return undefined;
  const [, , name, command] = textFormats.find(([ofPath, start]) => ofPath.test(path) || start.test(text)) ?? [];
  const filter = /^(?:\[|- )/.test(text) ? '.[]' : '.';
  if (name === undefined) return undefined;
  const convert = `write one value per line: ${command} '${filter}' ${file}> lines.jsonl`;
  return { name, hint: command ? convert : 'convert it to one JSON object per line' };
}
