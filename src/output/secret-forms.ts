import { Buffer } from 'node:buffer';
import { formatPath } from '../json/path.ts';

/**
 * The forms in which a value may come back that was sent: as it is, with its bytes taken for Latin-1 as headers are,
 * quoted as JSON once and twice, as a step of a path, percent-encoded, and within any longer text that is base64.
 */
export function formsOf(secret: string): string[] {
  const plain = [secret, Buffer.from(secret).toString('latin1')];
  const once = plain.flatMap((text) => [text, ...quoted(text)]);
  const more = once.flatMap((text) => [...quoted(text), formatPath([text]), percentEncoded(text), ...inBase64(text)]);
  return [...new Set([...once, ...more])];
}

// As JavaScript, Python and PHP write it.
function quoted(text: string): string[] {
  const whole = JSON.stringify(text).slice(1, -1);
  const escaped = (hexadecimal: (code: string) => string): string =>
    whole.replace(/[^ -~]/g, (unit) => `\\u${hexadecimal(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`);
  const ascii = escaped((code) => code);
  return [whole, ascii, escaped((code) => code.toUpperCase()), ascii.replaceAll('/', '\\/')];
}

function percentEncoded(text: string): string {
  // Half a pair of surrogates would be an error.
  return encodeURIComponent(Buffer.from(text).toString());
}

// Three bytes are four characters, so a value looks different by where it stands; what it shares with others is left.
function inBase64(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((before) => {
    const all = Buffer.concat([Buffer.alloc(before), bytes]);
    const own = [Math.ceil((before * 8) / 6), Math.floor((all.length * 8) / 6)] as const;
    return [all.toString('base64').slice(...own), all.toString('base64url').slice(...own)];
  });
}
