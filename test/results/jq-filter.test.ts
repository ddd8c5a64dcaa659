import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { createReporter } from '../../src/output/reporter.ts';
import { createStreamWriter } from '../../src/output/writer.ts';
import { type JqEngine, openJqEngine } from '../../src/results/jq-engine.ts';
import { compileJqFilter, type JqFilter } from '../../src/results/jq-filter.ts';

let engine: JqEngine;
beforeAll(async () => {
  engine = await openJqEngine(new URL('../../dist/jq.wasm.br', import.meta.url));
});

const stderr = createStreamWriter(process.stderr, { name: 'stderr', hasColor: false, isStderr: true });
const report = createReporter(stderr, { isJson: false, isQuiet: true, isVerbose: false, secrets: ['tok-en-1'] });
const compile = (filter: string): Promise<JqFilter> =>
  compileJqFilter(filter, { report, suspendSignals: (action) => action() }, async () => engine);

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
];

const hasJq = spawnSync('jq', ['--version']).status === 0;

describe.skipIf(!hasJq)('a filter (skipped where jq is not installed)', () => {
  it.each(filters)('%s gives what jq gives', async (filter) => {
    const { stdout, status } = spawnSync('jq', ['-r', '-c', ` ${filter}`], { input, encoding: 'utf8' });
    if (status !== 0)
      return expect(compile(filter).then((compiled) => compiled.apply(input).failure)).rejects.toThrow();
    const { text, failure } = (await compile(filter)).apply(input);
    expect({ text, failure }).toEqual({ text: stdout, failure: undefined });
  });
});

describe('digits and strings', () => {
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
  ])('%s of %s', async (filter, json, text) => {
    expect((await compile(filter)).apply(json)).toEqual({ text, failure: undefined });
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
    const { text, failure } = (await compile('.[]|keys')).apply('[{"a":1},1,{"b":2}]');
    expect(text).toBe('["a"]\n');
    expect(failure).toMatchObject({ code: 'answer', message: '--jq: number (1) has no keys' });
  });

  it('does not repeat a secret', async () => {
    expect((await compile('error(.)')).apply('"tok-en-1"').failure?.message).toBe('--jq: [hidden]');
  });

  it.each([
    ['large', `"${'x'.repeat(20_000_001)}"`],
    ['deep', '['.repeat(200_000)],
  ])('an input that is too %s is exit 12 or 11, and says what to do', async (_, json) => {
    const compiled = await compile('.');
    const outcome = (): unknown => compiled.apply(json).failure;
    let failure: unknown;
    try {
      failure = outcome();
    } catch (error) {
      failure = error;
    }
    expect(failure).toMatchObject({ name: 'Failure' });
  });
});
