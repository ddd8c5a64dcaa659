import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { JsonError } from '../../src/json/json-error.ts';
import { rawText, rootOf } from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { hasByteOrderMark } from '../../src/json/utf8.ts';
import { figure } from '../support/figure.ts';
import { run } from '../support/process.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';
import { accepted, acceptedBytes, refused, refusedBytes, type Vector } from './vectors.ts';

const MARK = '‸';

function bytesOf(hexadecimal: string): Buffer {
  return Buffer.from(hexadecimal.replace(/[‸ ]/g, ''), 'hex');
}

// The bytes of a refused vector without its mark, and where the mark stood.
function marked([name, text]: Vector, read: (text: string) => Buffer): { name: string; bytes: Buffer; offset: number } {
  const [before = '', after = ''] = text.split(MARK);
  return { name, bytes: read(before + after), offset: read(before).length };
}

const good = [
  ...accepted.map(([name, text]) => ({ name, bytes: Buffer.from(text) })),
  ...acceptedBytes.map(([name, text]) => ({ name, bytes: bytesOf(text) })),
];
const bad = [...refused.map((one) => marked(one, Buffer.from)), ...refusedBytes.map((one) => marked(one, bytesOf))];

// Where an offset in bytes is for a reader: line and column.
function placeOf(bytes: Buffer, offset: number): string {
  const lines = bytes.toString('utf8', 0, offset).replace('\ufeff', '').split('\n');
  return `${lines.length}:${[...(lines.at(-1) ?? '')].length + 1}`;
}

describe('JSON vectors', () => {
  it('are about 300, each once', () => {
    const names = [...good, ...bad].map(({ bytes }) => bytes.toString('hex'));
    figure(`${good.length} JSON vectors accepted and ${bad.length} refused at their place`);
    expect(names.length).toBeGreaterThan(300);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(good)('accepts $name', ({ bytes }) => {
    const doc = parseJson(bytes);
    expect(rawText(rootOf(doc))).toBe(
      bytes
        .toString()
        .replace(/^\ufeff/, '')
        .trim(),
    );
  });

  it.each(bad)('refuses $name', ({ bytes, offset }) => {
    try {
      parseJson(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(JsonError);
      expect(error).toMatchObject({ offset: hasByteOrderMark(bytes) && offset >= 3 ? offset - 3 : offset });
      return;
    }
    expect.unreachable('it was accepted');
  });
});

// The same through a command: every seventh, and those of great depth. An eighth of them by the built program.
const sample = bad.filter(({ name }, at) => at % 7 === 0 || name.includes('deep') || name.includes('mark'));

describe('the program', () => {
  const ways = sample.map((vector, at) => ({ ...vector, runCommand: at % 8 === 0 ? run : svc }));

  it.each(ways)('refuses $name with exit 3 and its place', async ({ bytes, offset, runCommand }) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'body.json'), bytes);
    const { code, stdout, stderr } = await runCommand(['chat', '-f', 'body.json', '--local'], { cwd, stdin: '' });
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    const place = placeOf(bytes, offset);
    expect(stderr).toMatch(
      new RegExp(
        `^svc: the body is invalid; nothing was sent\n {2}body\\.json:${place}: invalid JSON: .+\n(?: {4}.*\n {4} *\\^\n)?$`,
      ),
    );
  });
});
