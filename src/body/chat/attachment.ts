import { Buffer } from 'node:buffer';
import { basename } from 'node:path';
import { usageFailure } from '../../errors.ts';
import { writeJson } from '../../json/write-json.ts';
import type { BodyDependencies } from '../input-reader.ts';

/**
 * The content part, as JSON, of a file of `--attach`: an image or audio by its first bytes, else text. Throws usage for
 * any other file, and Failure `local` for one that cannot be read.
 */
export async function attachmentPart(path: string, { inputs }: Pick<BodyDependencies, 'inputs'>): Promise<string> {
  const bytes = Buffer.from(await inputs.read(path));
  const displayPath = path === '-' ? 'stdin' : path;
  const head = bytes.subarray(0, 16).toString('latin1');
  const { image, audio } = mediaTypes.find(({ start }) => start.test(head)) ?? {};
  const data = bytes.toString('base64');
  if (image) return writeJson({ type: 'image_url', image_url: { url: `data:image/${image};base64,${data}` } });
  if (audio) return writeJson({ type: 'input_audio', input_audio: { data, format: audio } });
  const text = bytes.toString();
  if (bytes.length === 0) throw usageFailure(`--attach: ${displayPath} is empty`, 'attach a file with content');
  if (text.includes('\0') || !Buffer.from(text).equals(bytes))
    throw usageFailure(
      `--attach: ${displayPath} is not an image, audio or UTF-8 text file`,
      'use PNG, JPEG, GIF, WebP, WAV, MP3 or text',
    );
  return writeJson({ type: 'text', text: `${basename(displayPath)}:\n\n${text.replace(/^\ufeff/, '')}` });
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
