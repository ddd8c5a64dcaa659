import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { rootOf } from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { csvLines, displayWidth, tsvLines } from '../../src/results/format-rows.ts';
import { yamlChunks } from '../../src/results/format-yaml.ts';
import { anyText } from '../json/random-json.ts';

const toYaml = (json: string): string => Array.from(yamlChunks(rootOf(parseJson(json)))).join('');
const hasPython = spawnSync('python3', ['-c', 'import yaml']).status === 0;
const python = (script: string, input: string): string => {
  const { stdout, stderr, status } = spawnSync('python3', ['-c', script], { input, maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(stderr.toString());
  return stdout.toString();
};

const words = [
  ...[
    '',
    'yes',
    'No',
    'on',
    'null',
    '~',
    'true',
    'y',
    '1',
    '0o17',
    '017',
    '0x1F',
    '1e3',
    '.5',
    '1_000',
    'e3',
    'E-10',
    '.inf',
    '.nan',
    '-',
    '- a',
    '? a',
  ],
  ...[
    'a: b',
    'a #b',
    '#a',
    '@a',
    '`a',
    '&a',
    '*a',
    '!a',
    '|',
    '>',
    '%a',
    '{',
    '[',
    ',',
    '"',
    "'",
    ' a',
    'a ',
    'a\nb',
    '\t',
    '2026-01-01',
    '12:30:45',
  ],
  ...[
    '=',
    '<<',
    '---',
    '...',
    'é',
    '👋',
    '\u0085',
    '\u2028',
    '\ufeff',
    '\u0000',
    '\u007f',
    'plain',
    'two words',
    'a.b-c/d_e',
    'NaN',
    'x: y: z',
  ],
];
const text = fc.oneof(fc.constantFrom(...words), anyText());
const value = fc.letrec((tie) => ({
  any: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.boolean(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('any'), { maxLength: 4 }),
  object: fc.dictionary(text, tie('any'), { maxKeys: 4 }),
})).any;
const samples = fc.sample(value, { numRuns: 10_000, seed: 14 }).map((one) => JSON.stringify(one));

describe('YAML', () => {
  it.each(['1.1', '1.2'] as const)('of 10,000 documents is read back by yaml %s as it was', (version) => {
    for (const json of samples) {
      const document = parseDocument(toYaml(json), { version });
      expect(document.errors, json).toEqual([]);
      expect(document.toJS(), json).toEqual(JSON.parse(json));
    }
  });

  it.skipIf(!hasPython)('and by PyYAML, which reads YAML 1.1 (skipped where it is not installed)', () => {
    const script = 'import sys,json,yaml\nfor t in json.load(sys.stdin): print(json.dumps(yaml.safe_load(t)))';
    const lines = python(script, JSON.stringify(samples.map(toYaml)))
      .trimEnd()
      .split('\n');
    expect(lines).toHaveLength(samples.length);
    for (const [at, json] of samples.entries()) expect(JSON.parse(lines[at] ?? ''), json).toEqual(JSON.parse(json));
  });

  it('keeps the text of numbers, and is block style', () => {
    expect(toYaml('{"a":1.0,"b":[9007199254740993,{"c":[],"d":{}}],"e":1e400,"f":"no","g":[[1,2]]}')).toBe(
      'a: 1.0\nb:\n  - 9007199254740993\n  - c: []\n    d: {}\ne: !!float 1e400\nf: "no"\ng:\n  - - 1\n    - 2\n',
    );
  });

  it('accepts a document of any depth', () => {
    expect(toYaml(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)).toContain('[[[[');
  });
});

describe('rows', () => {
  const rows = [['a', 'b'], ...fc.sample(fc.tuple(text, text), { numRuns: 1000, seed: 14 })].map((row) =>
    row.map((cell) => cell.replace(/\p{Surrogate}|\0/gu, '')),
  );

  it.skipIf(!hasPython)('as CSV are what Python reads', () => {
    const script =
      'import sys,csv,json,io\nprint(json.dumps(list(csv.reader(io.StringIO(sys.stdin.buffer.read().decode(),newline="")))))';
    expect(JSON.parse(python(script, Array.from(csvLines(rows)).join('')))).toEqual(rows);
  });

  it('as TSV are one line each', () => {
    expect(Array.from(tsvLines([['a\tb', 'c\nd\\']]))).toEqual(['a\\tb\tc\\nd\\\\\n']);
  });
});

describe('the width of a text on a terminal', () => {
  it.each([
    ['abc', 3],
    ['日本語', 6],
    ['한국', 4],
    ['👋', 2],
    ['é', 1],
    ['ｆｕｌｌ', 8],
    ['', 0],
  ])('of %s is %i', (characters, width) => {
    expect(displayWidth(characters)).toBe(width);
  });
});
