import { Buffer } from 'node:buffer';
import { formatJsonPath } from '../json/json-path.ts';

/**
 * The forms in which a value may come back that was sent: as it is, with its bytes taken for Latin-1 as headers are,
 * quoted as JSON once and twice, as a step of a path, percent-encoded, and within any longer text that is base64.
 */
export function secretForms(secret: string): string[] {
  const rawForms = [secret, Buffer.from(secret).toString('latin1')];
  const escapedForms = rawForms.flatMap((text) => [text, ...jsonEscapedForms(text)]);
  const encodedForms = escapedForms.flatMap((text) => [
    ...jsonEscapedForms(text),
    formatJsonPath([text]),
    percentEncode(text),
    ...base64Forms(text),
  ]);
  return [...new Set([...escapedForms, ...encodedForms])];
}

// As JavaScript, Python and PHP write it.
function jsonEscapedForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const escapeNonAscii = (hexadecimal: (code: string) => string): string =>
    json.replace(/[^ -~]/g, (unit) => `\\u${hexadecimal(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`);
  const ascii = escapeNonAscii((code) => code);
  return [json, ascii, escapeNonAscii((code) => code.toUpperCase()), ascii.replaceAll('/', '\\/')];
}

function percentEncode(text: string): string {
  // Half a pair of surrogates would be an error.
  return encodeURIComponent(Buffer.from(text).toString());
}

// Three bytes are four characters, so a value looks different by where it stands; what it shares with others is left.
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((paddingBytes) => {
    const padded = Buffer.concat([Buffer.alloc(paddingBytes), bytes]);
    const range = [Math.ceil((paddingBytes * 8) / 6), Math.floor((padded.length * 8) / 6)] as const;
    return [padded.toString('base64').slice(...range), padded.toString('base64url').slice(...range)];
  });
}
