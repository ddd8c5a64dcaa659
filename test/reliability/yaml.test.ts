import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inShell } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const MAX_BYTES = 1024 * 1024;

/** A document of up to 1 MiB that repeats a piece. */
function filled(head: string, piece: string, tail = ''): string {
  return head + piece.repeat((MAX_BYTES - head.length - tail.length) / piece.length) + tail;
}

/** A document of up to 1 MiB with a different piece for each number. */
function numbered(head: string, pieceOf: (index: number) => string, tail = ''): string {
  const parts = [head];
  let length = head.length + tail.length;
  for (let index = 0; ; index += 1) {
    const piece = pieceOf(index);
    length += piece.length;
    if (length > MAX_BYTES) return parts.join('') + tail;
    parts.push(piece);
  }
}

const deepest = '['.repeat(450) + ']'.repeat(450);

const documents: readonly (readonly [name: string, yaml: string, message: string])[] = [
  ['160,000 aliases', `a: &a x\nb: [${'*a, '.repeat(160_000)}]\n`, 'body.yaml:1:1 messages: is required'],
  ['aliases', filled('a: &a x\nb: [', '*a,', ']\n'), 'more than 500000 tokens'],
  ['an anchor for each alias', numbered('', (at) => `- &a${at} x\n- *a${at}\n`), 'more than 500000 tokens'],
  ['anchors with one name', filled('a:\n', '- &a x\n- *a\n'), 'more than 500000 tokens'],
  ['long anchors', numbered('a:\n', (at) => `- &${'a'.repeat(999)}${at} x\n`), 'body.yaml:1:1 messages: is required'],
  ['aliases of aliases', numbered('', (at) => `- &a${at} [*a${at - 1}]\n`), 'the alias *a-1 has no anchor'],
  ['aliases of empty arrays', `a: &a []\nb: &b [${'*a,'.repeat(999)}]\nc: [${'*b,'.repeat(999)}]`, 'expand too far'],
  ['aliases of a long string', `a: &a ${'x'.repeat(500_000)}\nb: [${'*a,'.repeat(9)}]`, 'expand too far'],
  ['alias chains', filled('', '*a '), 'more than 500000 tokens'],
  ['anchor chains', filled('', '&a '), 'more than 500000 tokens'],
  ['keys', numbered('', (at) => `key-${at}: 1\n`), 'more than 500000 tokens'],
  ['long keys', numbered('', (at) => `a-longer-key-${at}: 1\n`), 'body.yaml:1:1 messages: is required'],
  ['keys of a flow map', numbered('{', (at) => `k${at},`, '}'), 'body.yaml:1:1 messages: is required'],
  ['quoted keys', numbered('{', (at) => `"k${at}":1,`, '}'), 'body.yaml:1:1 messages: is required'],
  ['number keys', numbered('messages: []\nlogit_bias:\n', (at) => `  ${at + 100_000}: -1\n`), 'more than 500000'],
  ['explicit keys', numbered('', (at) => `? k${at}\n`), 'more than 500000 tokens'],
  ['equal keys', filled('', 'a: 1\n'), 'more than 500000 tokens'],
  ['keys that are maps', filled('', '? {a: 1}\n: 1\n'), 'more than 500000 tokens'],
  ['merge keys', filled('a: &a {b: 1}\nc:\n', '- <<: *a\n'), 'more than 500000 tokens'],
  ['an ordered map', numbered('a: !!omap\n', (at) => `- key-${at}: 1\n`), 'more than 500000 tokens'],
  ['a set', numbered('a: !!set\n', (at) => `  ? a-longer-key-${at}\n`), 'the tag !!set has no JSON form'],
  ['open arrays', filled('', '['), 'nested too deeply'],
  ['open objects', filled('', '{'), 'nested too deeply'],
  ['sequences', filled('', '- '), 'nested too deeply'],
  ['explicit keys in keys', filled('', '? '), 'nested too deeply'],
  ['deep arrays', filled('', `- ${deepest}\n`), 'more than 500000 tokens'],
  ['closing brackets', filled('', ']'), 'more than 500000 tokens'],
  ['empty elements', filled('[', ',', ']'), 'more than 500000 tokens'],
  ['small arrays', filled('[', '[[]],', ']'), 'more than 500000 tokens'],
  ['comments', filled('a: [\n', '# c\n', ']'), 'more than 500000 tokens'],
  ['tags', filled('', '!!str '), 'A node can have at most one tag'],
  ['tagged values', filled('', '- !!str x\n'), 'more than 500000 tokens'],
  ['block scalars', filled('', '- |\n x\n'), 'more than 500000 tokens'],
  ['a long block scalar', filled('a: >\n', '\n x\n'), 'body.yaml:1:1 messages: is required'],
  ['a plain scalar of many lines', filled('a: x\n', ' x\n'), 'body.yaml:1:1 messages: is required'],
  ['plain scalars after an array that is not closed', filled('a: [\n', 'x\n'), 'more than 500000 tokens'],
  ['double quotes', filled('', '"'), 'more than 500000 tokens'],
  ['escapes that do not exist', filled('a: "', '\\q', '"\n'), 'Invalid escape sequence'],
  ['bad indentation', filled('', '  a: 1\n b: 2\n'), 'more than 500000 tokens'],
  ['documents', filled('', '--- a\n'), 'several documents'],
];

describe('a YAML body of up to 1 MiB', () => {
  // Each takes less than 3 s of processor time, of a machine that is not shared; at the limit, the system ends the program.
  it.each(documents)('with %s is parsed or rejected within its processor time', async (_, yaml, message) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'body.yaml'), yaml);
    const { code, stderr } = await inShell('ulimit -t 12; svc chat -f body.yaml --dry-run -q', { cwd });
    expect(stderr).toContain(message);
    expect(code).toBe(3);
  });
});
