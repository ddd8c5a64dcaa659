import { Buffer, isUtf8 } from 'node:buffer';
import { basename } from 'node:path';
import { Failure, usageFailure } from '../../errors.ts';
import { foreignFormat } from '../../files/foreign-formats.ts';
import { parseJson } from '../../json/parse-json.ts';
import { hasByteOrderMark } from '../../json/utf8.ts';
import { writeJson } from '../../json/write-json.ts';
import type { Attachment, Draft } from '../draft.ts';
import type { BodyInputs } from '../input-reader.ts';

// Like one file (read-input.ts); servers accept at most 32 MiB (docs/internals/servers.md).
const MAX_ATTACHED_BYTES = 128 * 1024 * 1024;

/** Throws usage for a file that is not an image, audio or text, and Failure `local_file` for more than 128 MiB in all. */
export async function readAttachments(files: readonly string[], inputs: BodyInputs): Promise<Attachment[]> {
  const attachments: Attachment[] = [];
  let remainingBytes = MAX_ATTACHED_BYTES;
  for (const path of files) {
    const attachment = await readAttachment(path, inputs);
    remainingBytes -= attachment.bytes.length;
    const facts = { hint: 'attach smaller files, or fewer', applied: 'no' } as const;
    if (remainingBytes < 0) throw new Failure('local_file', '--attach: the files have more than 128 MiB in all', facts);
    attachments.push(attachment);
  }
  return attachments;
}

async function readAttachment(path: string, { read, randomBytes }: BodyInputs): Promise<Attachment> {
  const bytes = Buffer.from(await read(path));
  const displayPath = path === '-' ? 'stdin' : path;
  const head = bytes.subarray(0, 16).toString('latin1');
  const { image, audio } = mediaTypes.find(({ start }) => start.test(head)) ?? {};
  const data = `attachment-${Buffer.from(randomBytes(16)).toString('hex')}`;
  const media = { placeholder: data, bytes, encoding: 'base64' } as const;
  const imageUrl = { url: `data:image/${image};base64,${data}` };
  if (image) return { ...media, part: writeJson({ type: 'image_url', image_url: imageUrl }) };
  if (audio) return { ...media, part: writeJson({ type: 'input_audio', input_audio: { data, format: audio } }) };
  if (bytes.length === 0) throw usageFailure(`--attach: ${displayPath} is empty`, 'attach a file with content');
  const foreign = foreignFormat(bytes);
  if (foreign) throw usageFailure(`--attach: ${displayPath} is ${foreign.name}`, foreign.hint);
  if (bytes.includes(0) || !isUtf8(bytes))
    throw usageFailure(
      `--attach: ${displayPath} is not an image, audio or UTF-8 text file`,
      'use PNG, JPEG, GIF, WebP, WAV, MP3 or text',
    );
  return {
    part: writeJson({ type: 'text', text: `${basename(displayPath)}:\n\n${data}` }),
    placeholder: data,
    bytes: hasByteOrderMark(bytes) ? bytes.subarray(3) : bytes,
    encoding: 'text',
  };
}

/** A body with the content of its attachments, which is written into its bytes once: they may have 100 MB. */
export function insertAttachments(draft: Draft): Draft {
  const { bytes } = draft.doc;
  const attachments = draft.edits.flatMap((edit) => edit.attachments ?? []);
  function* chunks(): Generator<Buffer> {
    let at = 0;
    for (const attachment of attachments) {
      const start = bytes.indexOf(attachment.placeholder, at);
      if (start === -1) continue;
      yield bytes.subarray(at, start);
      yield* encodedChunks(attachment);
      at = start + attachment.placeholder.length;
    }
    yield bytes.subarray(at);
  }
  let length = 0;
  for (const chunk of chunks()) length += chunk.length;
  const whole = Buffer.allocUnsafe(length);
  let end = 0;
  for (const chunk of chunks()) end += chunk.copy(whole, end);
  return { ...draft, doc: parseJson(whole) };
}

// A multiple of three: base64 without padding in between.
const CHUNK_BYTES = 48 * 1024;

function* encodedChunks({ bytes, encoding }: Attachment): Generator<Buffer> {
  for (let start = 0; start < bytes.length; ) {
    let end = Math.min(start + CHUNK_BYTES, bytes.length);
    // A character is not split.
    while (encoding === 'text' && end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    const chunk = bytes.subarray(start, end);
    yield Buffer.from(encoding === 'text' ? JSON.stringify(chunk.toString()).slice(1, -1) : chunk.toString('base64'));
    start = end;
  }
}

// By the first bytes: a file's name may be wrong.
const mediaTypes: readonly { readonly start: RegExp; readonly image?: string; readonly audio?: string }[] = [
  { start: /^\x89PNG\r\n/, image: 'png' },
  { start: /^\xff\xd8\xff/, image: 'jpeg' },
  { start: /^GIF8[79]a/, image: 'gif' },
  { start: /^RIFF[\s\S]{4}WEBP/, image: 'webp' },
  { start: /^RIFF[\s\S]{4}WAVE/, audio: 'wav' },
  { start: /^ID3|^\xff[\xfb\xf3\xf2]/, audio: 'mp3' },
];
