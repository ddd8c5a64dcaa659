import { Buffer, isUtf8 } from 'node:buffer';
import { extname } from 'node:path';
import { Failure } from '../../errors.ts';
import { foreignFormat } from '../../files/foreign-formats.ts';
import { peekStart } from '../../files/read-input.ts';
import { shellWord } from '../../output/shell-quote.ts';

/** The same chunks. Throws Failure `body` if the first bytes are of a format that is not text, or of UTF-16. */
export async function* rejectOtherFormats(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array, undefined> {
  const { start, chunks: all } = await peekStart(chunks, MIN_HEAD_BYTES);
  for await (const chunk of all) {
    if (chunk === start) rejectHead(start, path);
    yield chunk;
  }
  return undefined;
}

const MIN_HEAD_BYTES = 8;

/** Throws Failure `body` if the first bytes of a file are not text in UTF-8 or in an encoding of one byte per character. */
export function rejectHead(head: Buffer, path: string): void {
  if (/^(?:fffe|feff)/.test(head.toString('hex', 0, 2))) throw encodingFailure(path, 'UTF-16');
  const [first, second, third, fourth] = head;
  if (first && second === 0 && third && fourth === 0) throw encodingFailure(path, 'UTF-16LE');
  if (first === 0 && second && third === 0 && fourth) throw encodingFailure(path, 'UTF-16BE');
  const { name, hint } = foreignFormat(head) ?? {};
  if (name !== undefined) throw new Failure('body', `${path} is ${name}`, { hint });
}

/** The text of a file. Throws Failure `body` for another encoding than UTF-8. */
export async function* decodeText(chunks: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let last: Uint8Array = Buffer.alloc(0);
  try {
    for await (const chunk of rejectOtherFormats(chunks, path)) {
      last = chunk;
      yield decoder.decode(chunk, { stream: true });
    }
    yield decoder.decode();
    return undefined;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw singleByteFailure(path, last);
  }
}

/** Throws Failure `body` for text that is not UTF-8. */
export function checkUtf8(bytes: Uint8Array, path: string): void {
  if (!isUtf8(bytes)) throw singleByteFailure(path, bytes);
}

// Five bytes are not characters of Windows-1252, and iconv would stop at them.
function singleByteFailure(path: string, bytes: Uint8Array): Failure {
  const hasOtherBytes = bytes.some((byte) => [0x81, 0x8d, 0x8f, 0x90, 0x9d].includes(byte));
  return encodingFailure(path, hasOtherBytes ? 'ISO-8859-1' : 'WINDOWS-1252');
}

function encodingFailure(path: string, encoding: string): Failure {
  const extension = extname(path);
  const target = `${path.slice(0, path.length - extension.length)}.utf8${extension}`;
  const command = `iconv -f ${encoding} -t UTF-8`;
  const isFile = path !== '-' && path !== 'stdin';
  const hint = isFile
    ? `convert it: ${command} -o ${shellWord(target)} ${shellWord(path)}`
    : `pipe it through: ${command}`;
  const name = encoding.startsWith('UTF-16') ? 'UTF-16' : 'probably Windows-1252';
  return new Failure('body', `${path} is not UTF-8, but ${name}`, { hint });
}
