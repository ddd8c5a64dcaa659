import { expect, it } from 'vitest';
import { rawText } from '../../src/json/json-node.ts';
import { parseCutJson } from '../../src/json/parse-json.ts';

const whole = {
  detail: [
    {
      type: 'missing',
      loc: ['body', 'messages', 0],
      msg: 'Field "content" \\ required é😀\u0007',
      input: { n: [1.5, true, null] },
    },
    { type: 'x', loc: [], msg: '', input: {} },
  ],
  '\\"{': '}],',
};

/** True if a value is the start of another: with fewer members and items, and shorter strings. */
function isStart(part: unknown, all: unknown): boolean {
  if (typeof part === 'string') return typeof all === 'string' && all.startsWith(part.replace(/\ufffd$/, ''));
  if (typeof part !== 'object' || part === null) return part === all;
  if (typeof all !== 'object' || all === null || Array.isArray(part) !== Array.isArray(all)) return false;
  const entries = new Map(Object.entries(all));
  return Object.entries(part).every(([key, value]) => entries.has(key) && isStart(value, entries.get(key)));
}

it.each([
  ['as JSON.stringify writes it', JSON.stringify(whole)],
  ['with spaces', JSON.stringify(whole, null, 1)],
  [
    'in ASCII',
    JSON.stringify(whole).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  ],
])('the start of a value is read wherever its text is cut: %s', (_, text) => {
  const bytes = Buffer.from(text);
  let members = 0;
  for (let end = 1; end <= bytes.length; end += 1) {
    const root = parseCutJson(bytes.subarray(0, end));
    const value: unknown = root && JSON.parse(rawText(root));
    expect(isStart(value, whole), text.slice(0, end)).toBe(true);
    const count = JSON.stringify(value).match(/":/g)?.length ?? 0;
    expect(count, text.slice(0, end)).toBeGreaterThanOrEqual(members - 1);
    members = Math.max(members, count);
  }
  expect(members).toBe(JSON.stringify(whole).match(/":/g)?.length);
});

it.each(['', 'oops', '<html>', '12', '}', '"a" "b'])(
  'text that is not a cut object or array has no value: %j',
  (text) => {
    expect(parseCutJson(Buffer.from(text))).toBeUndefined();
  },
);
