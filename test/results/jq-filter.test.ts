import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { createReporter } from '../../src/output/reporter.ts';
import { createStreamWriter } from '../../src/output/writer.ts';
import { compileJqFilter, createJqEngine, type JqFilter } from '../../src/results/jq-filter.ts';
import { after } from '../support/clock.ts';

const engine = createJqEngine(new URL('../../dist/jq-worker.js', import.meta.url));

const stderr = createStreamWriter(process.stderr, 'stderr', false);
const report = createReporter(stderr, { isJson: false, isQuiet: true, isVerbose: false, secrets: ['tok-en-1'] });
const compile = (filter: string): Promise<JqFilter> =>
  compileJqFilter(filter, { report, signal: new AbortController().signal, runtime: { after } }, { runJq: engine });

const input =
  '{"id":"c-1","n":12,"price":1.5,"ok":true,"none":null,"tags":["b","a","c","a"],"text":"line 1\\nline 2\\n","time":"2026-01-30T10:00:00Z",' +
  '"choices":[{"index":1,"message":{"content":"Grüße 👋"}},{"index":0,"message":{"content":"x","tool_calls":[{"function":{"name":"f","arguments":"{\\"a\\":1}"}}]}}],' +
  '"usage":{"prompt_tokens":3,"completion_tokens":4},"paths":[{"json_path":"a.b","value_type":"numeric"},{"json_path":"c","value_type":"string"}]}';

const filters = [
  ...[
    '.',
    '.id',
    '.missing',
    '.none',
    '.text',
    '.tags[0]',
    '.tags[-1]',
    '.tags[1:3]',
    '.tags[]',
    '.choices[].message.content',
  ],
  ...[
    '.choices | length',
    '.choices | map(.index)',
    '.choices | sort_by(.index) | .[0].message.content',
    '.tags | sort',
    '.tags | unique',
  ],
  ...[
    '.tags | group_by(.)',
    '.tags | join(",")',
    '.tags | index("a")',
    '.tags | reverse',
    '.tags | first, last',
    '.tags | any(. == "a")',
  ],
  ...[
    '.usage | keys',
    '.usage | to_entries',
    '.usage | add',
    '.usage | map_values(. + 1)',
    '.usage | to_entries[] | "\\(.key)=\\(.value)"',
  ],
  ...[
    '.paths[] | select(.value_type == "numeric") | .json_path',
    '.paths[] | [.json_path, .value_type] | @csv',
    '.paths[] | [.json_path, .value_type] | @tsv',
  ],
  ...[
    '.paths | map({(.json_path): .value_type}) | add',
    '[.paths[] | .json_path] | @json',
    '.id | @base64',
    '.id | @uri',
    '.text | @html',
    '.text | @sh',
  ],
  ...[
    '.text | split("\\n")',
    '.text | ascii_upcase',
    '.text | length',
    '.text | test("line")',
    '.text | sub("line"; "row")',
    '.text | gsub("line"; "row")',
  ],
  ...[
    '.choices[1].message.tool_calls[0].function.arguments | fromjson | .a',
    'if .ok then "yes" else "no" end',
    '.none // "default"',
    '.n + 1',
    '.n / 5',
  ],
  ...[
    '.n % 5',
    '[range(3)]',
    'has("id")',
    '.price | floor',
    '[.n, .price] | max',
    'del(.choices, .paths)',
    '.usage.total = 7 | .usage',
    '.tags |= map(. + "!") | .tags',
  ],
  ...[
    'paths | length',
    '.. | numbers',
    'reduce .tags[] as $t (""; . + $t)',
    '[limit(2; .tags[])]',
    '.time | fromdateiso8601',
    'def f(x): x * 2; f(.n)',
  ],
  ...[
    '.choices[0] as $c | $c.index',
    'try error("x") catch .',
    '[.tags[] | {tag: .}]',
    '.tags | to_entries | map(.key)',
    'with_entries(select(.value | type == "string")) | keys',
  ],
  ...[
    '[.tags[] | ascii_downcase] | @text',
    '-1',
    '.tags | contains(["a"])',
    '.id | ltrimstr("c-") | tonumber',
    'input_line_number',
    '[splits("a")?]',
    'tojson | fromjson | .id',
  ],
  ...[
    '.tags | tostream',
    'limit(1; .tags[])',
    '.usage | [.[]] | @text',
    'walk(if type == "number" then 0 else . end) | .usage',
    'isvalid(.id)?',
    'env | type',
    'empty',
  ],
  ...[
    '.time | strptime("%Y-%m-%dT%H:%M:%SZ")',
    '.time | fromdate | gmtime | mktime',
    '.time | fromdate | strftime("%A, %B %d, %Y")',
    '.time | fromdate + 86400 | todate',
    '[.choices[].index, .id, .ok, .none, .text, .price] | @csv',
  ],
  ...[
    '[.id, "a\\tb\\\\c", .price] | @tsv',
    '.choices[] | [.index, (.message.content | length)] | @csv',
    'try (.id | keys | length) catch "no keys"',
    '.id[0]?',
    'try error({code: 7}) catch .code',
  ],
];

const hasJq = spawnSync('jq', ['--version']).status === 0;

describe.skipIf(!hasJq)('a filter (skipped where jq is not installed)', () => {
  it.each(filters)('%s has the same result as jq', async (filter) => {
    const { stdout, status } = spawnSync('jq', ['-r', '-c', ` ${filter}`], { input, encoding: 'utf8' });
    if (status !== 0)
      return expect(compile(filter).then(async (compiled) => (await compiled.apply(input)).failure)).rejects.toThrow();
    const { text, failure } = await (await compile(filter)).apply(input);
    expect({ text, failure }).toEqual({ text: stdout, failure: undefined });
  });
});

// By hand, since jq 1.6 rounds large numbers, drops `.0`, and has other errors.
describe('digits, dates, rows and strings', () => {
  it.each([
    ['.[0]', '[9223372036854775807]', '9223372036854775807\n'],
    ['.[]', '[1.0, 12345678901234567890123, 0.10, -0.0]', '1.0\n12345678901234567890123\n0.10\n-0.0\n'],
    ['map(select(. > 1))', '[9007199254740993,1]', '[9007199254740993]\n'],
    ['sort', '[9007199254740993,1.0]', '[1.0,9007199254740993]\n'],
    ['.a', '{"a":"x\\n\\n"}', 'x\n\n\n'],
    ['.a', '{"a":"  "}', '  \n'],
    ['.', '"\\ud83d"', '\ufffd\n'],
    ['.', '"\\ud83d\\ude00 \\\\ud83d"', '😀 \\ud83d\n'],
    ['.a', '{"a":1}\n{"a":"b"}\n', '1\nb\n'],
    ['.a', '', ''],
    ['-.[0]', '[1]', '-1\n'],
    ['. # a comment', '1', '1\n'],
    ['@csv', '[9223372036854775807,1.0,"a,\\"b\\"",null,true]', '9223372036854775807,1.0,"a,""b""",,true\n'],
    ['@tsv', '[9223372036854775807,1.0,"a\\tb"]', '9223372036854775807\t1.0\ta\\tb\n'],
    [
      '@text, tojson, "\\(.[0])"',
      '[9223372036854775807]',
      '[9223372036854775807]\n[9223372036854775807]\n9223372036854775807\n',
    ],
    ['.[] | tostring', '[9223372036854775807,1.50]', '9223372036854775807\n1.50\n'],
    ['to_entries | from_entries', '{"a":12345678901234567890}', '{"a":12345678901234567890}\n'],
    ['unique', '[9007199254740993,9007199254740992,9007199254740993]', '[9007199254740992,9007199254740993]\n'],
    ['.[0] == .[1], max', '[9007199254740993,9007199254740992]', 'false\n9007199254740993\n'],
    ['tojson | fromjson', '[1e400]', '[1E+400]\n'],
    ['.a |= . | pick(.a)', '{"a":1.0,"b":2}', '{"a":1.0}\n'],
    ['abs', '-9007199254740993', '9007199254740993\n'],
    ['.[0] + 0', '[9007199254740993]', '9007199254740992\n'],
    ['todate', '1769767200.5', '2026-01-30T10:00:00Z\n'],
    ['strptime("%Y-%m-%dT%H:%M:%S%z") | mktime', '"2026-01-30T10:00:00+0100"', '1769767200\n'],
    ['trim, ltrimstr(" ")', '" a "', 'a\na \n'],
    ['limit(0; 1, 2)', '1', ''],
    ['[.[] | try (1 / .) catch "zero"]', '[2,0]', '[0.5,"zero"]\n'],
  ])('%s of %s', async (filter, json, text) => {
    expect(await (await compile(filter)).apply(json)).toEqual({ text, failure: undefined });
  });
});

describe('a filter that fails', () => {
  it.each([
    ['.a |', /syntax error/],
    ['nope', /nope\/0 is not defined/],
    ['import "x" as $x; .', /module not found/],
    ['include "x"; .', /module not found/],
    ['"', /syntax error/],
  ])('%s is a wrong command line', async (filter, message) => {
    await expect(compile(filter)).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(message) });
  });

  it('at run time prints what came before it', async () => {
    const { text, failure } = await (await compile('.[]|keys')).apply('[{"a":1},1,{"b":2}]');
    expect(text).toBe('["a"]\n');
    expect(failure).toMatchObject({ code: 'invalid_response', message: '--jq: number (1) has no keys' });
  });

  it.each(['strftime', 'strflocaltime'])('on a time zone in %s says what to write instead', async (name) => {
    const { failure } = await (await compile(`${name}("%H %Z")`)).apply('0');
    const hint = 'this jq does not support %Z: write the name of the time zone instead, such as UTC';
    expect(failure).toMatchObject({ code: 'invalid_response', facts: { hint } });
  });

  it('on any of several inputs is a failure, also where the last one passes', async () => {
    const { text, failure } = await (await compile('.a | keys')).apply('{"a":{"b":1}}\n{"a":1}\n{"a":{"c":1}}\n');
    expect(text).toBe('["b"]\n["c"]\n');
    expect(failure).toMatchObject({ code: 'invalid_response', message: '--jq: number (1) has no keys' });
  });

  it.each([
    ['if .>1 and .<4 then ., error("no \\(.)") else . end', '1\n2\n3\n4\n', '--jq: no 2'],
    ['if .==2 then halt else . end', '1\n3\n4\n', undefined],
    ['if .==2 then "x"|halt_error else . end', '1\n3\n4\n', '--jq: x'],
    ['[., input_line_number]', '[1,1]\n[2,1]\n[3,1]\n[4,1]\n', undefined],
    ['[., inputs]', '[1]\n[2]\n[3]\n[4]\n', undefined],
  ])('%s runs on each line alone', async (filter, text, message) => {
    const result = await (await compile(filter)).applyToLines(['1\n', '2\n', '3\n', '4\n']);
    expect({ text: result.text, message: result.failure?.message }).toEqual({ text, message });
  });

  it.each([
    ['.a.b', '{"a":"x"}', 'Cannot index string with string ("b")'],
    ['.[0]', '{"a":1}', 'Cannot index object with number (0)'],
    ['.a / .b', '{"a":1,"b":0}', 'number (1) and number (0) cannot be divided because the divisor is zero'],
    ['tonumber', '"x"', 'string ("x") cannot be parsed as a number'],
    ['fromjson', '"{"', "Unfinished JSON term at EOF at line 1, column 1 (while parsing '{')"],
    ['fromdate', '"x"', 'date "x" does not match format "%Y-%m-%dT%H:%M:%SZ"'],
    ['@csv', '[{}]', 'object ({}) is not valid in a csv row'],
    ['error({a: 1})', '1', 'error (not a string): {"a":1}'],
    ['error(null)', '1', 'error (not a string): null'],
    ['test("(")', '"a"', 'Regex failure: end pattern with unmatched parenthesis'],
  ])('%s of %s is exit 11', async (filter, json, message) => {
    const { text, failure } = await (await compile(filter)).apply(json);
    expect({ text, failure }).toMatchObject({
      text: '',
      failure: { code: 'invalid_response', message: `--jq: ${message}` },
    });
  });

  it.each([
    [undefined, 120_000, 'check it for an endless loop'],
    [() => 700, 700, 'check it for an endless loop, or raise --timeout'],
  ])('to end within its time limit (%#) fails, and so do later runs', async (remainingMs, limitMs, hint) => {
    const limits: number[] = [];
    const runtime = {
      after: (milliseconds: number, action: () => void) => {
        limits.push(milliseconds);
        // The first run compiles.
        if (limits.length > 1) setImmediate(action);
        return () => {};
      },
    };
    const { signal } = new AbortController();
    const filter = await compileJqFilter('def f: f; f', { report, signal, runtime }, { remainingMs, runJq: engine });
    const message = `--jq: the filter was still running after ${(limitMs / 1000).toFixed(1)} s`;
    for (const _ of [1, 2])
      await expect(filter.apply('1')).rejects.toMatchObject({ code: 'invalid_response', message, facts: { hint } });
    expect(limits).toEqual([limitMs, limitMs]);
  });

  it('does not repeat a secret', async () => {
    expect((await (await compile('error(.)')).apply('"tok-en-1"')).failure?.message).toBe('--jq: [redacted]');
  });

  it.each([
    ['large', `"${'x'.repeat(20_000_001)}"`],
    ['deep', '['.repeat(200_000)],
  ])('an input that is too %s is exit 11, and says what to do', async (_, json) => {
    const compiled = await compile('.');
    const outcome = compiled.apply(json).then(
      ({ failure }) => failure,
      (error: unknown) => error,
    );
    expect(await outcome).toMatchObject({ name: 'Failure', code: 'invalid_response' });
    expect(await compiled.apply('[1]')).toEqual({ text: '[1]\n', failure: undefined });
  });
});
