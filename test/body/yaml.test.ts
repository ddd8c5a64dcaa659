import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { yamlToJson } from '../../src/body/yaml-source.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

async function dryRun(yaml: string | Uint8Array, ...flags: string[]): Promise<Result> {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'body.yaml'), yaml);
  return svc(['chat', '-f', 'body.yaml', '--dry-run', '-q', ...flags], { cwd });
}

describe('a YAML body', () => {
  it('is sent as JSON in which numbers keep their text', async () => {
    const yaml = `# a comment
messages:
  - {role: user, content: no}
  - role: user
    content: |
      two
      lines
seed: 9007199254740993
temperature: 1.0
top_p: .5
n: 0x10
stop: [2026-01-01, ~, yes, '1', "é"]
logit_bias: {42: -1, 1e400: 1e400}
`;
    expect((await dryRun(yaml)).stdout).toBe(
      '{"messages":[{"role":"user","content":"no"},{"role":"user","content":"two\\nlines\\n"}],"seed":9007199254740993,' +
        '"temperature":1.0,"top_p":0.5,"n":16,"stop":["2026-01-01",null,"yes","1","é"],"logit_bias":{"42":-1,"1e400":1e400}}',
    );
  });

  it('of a training job is sent with its trajectories, and recorded under its file name', async () => {
    const cwd = temporaryDirectory();
    const trajectory = '{messages_and_choices: [], reward: 1.0}';
    const model = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05';
    writeFileSync(
      join(cwd, 'job.yml'),
      `model_id: ${model}\ntrajectory_groups:\n  - trajectories:\n      - ${trajectory}\n`,
    );
    const shown = await svc(['train', '-f', 'job.yml', '--dry-run', '-q'], { cwd });
    expect(shown.stdout).toBe(
      `{"model_id":"${model}","trajectory_groups":[{"trajectories":[{"messages_and_choices":[],"reward":1.0}]}]}`,
    );
    writeFileSync(join(cwd, 'bad.yml'), `model_id: ${model}\ntrajectory_groups:\n  - trajectories: [{reward: high}]\n`);
    const invalid = await svc(['train', '-f', 'bad.yml', '--local'], { cwd });
    expect(invalid).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('bad.yml:3:') });
    const env = { SVC_DATA_DIR: temporaryDirectory() };
    expect((await svc(['train', '-f', 'job.yml', '--local'], { cwd, env })).code).toBe(0);
    const log = await svc(['train', 'log', '--json'], { cwd, env });
    expect(JSON.parse(log.stdout)).toMatchObject([{ files: ['job.yml'], trajectories: 1 }]);
  });

  it.each([
    ['017', '17'],
    ['+3', '3'],
    ['-0.0', '-0.0'],
    ['-.5e3', '-0.5e3'],
    ['1.', '1'],
    ['0o17', '15'],
    ['12345678901234567890123', '12345678901234567890123'],
    ['True', 'true'],
    ['null', 'null'],
    ['&a {b: 1}', '{"b":1}'],
    ['[&a x, *a]', '["x","x"]'],
    ['', 'null'],
    ['!!str 5', '"5"'],
    ['! 5', '"5"'],
    ['[!!int 5, !!float 5.0, !!bool true, !!null ~]', '[5,5.0,true,null]'],
    ['[&a 1, *a, &a 2, *a]', '[1,1,2,2]'],
    ['[&a 1, &b [*a], &a 2, *b]', '[1,[1],2,[1]]'],
    ['{&a b: *a, ? &c d : *c}', '{"b":"b","d":"d"}'],
    ['!!map {a: !!seq [b], c}', '{"a":["b"],"c":null}'],
    [
      '{"<<": 1, c: {\'<<\': &a {b: 1}}, d: {!!str <<: *a}, <<d: 1}',
      '{"<<":1,"c":{"<<":{"b":1}},"d":{"<<":{"b":1}},"<<d":1}',
    ],
    ['[&a x, &b 0x10, &c "<<", {*a : 1, *b : 2, *c : 3}]', '["x",16,"<<",{"x":1,"0x10":2,"<<":3}]'],
  ])('%s is %s', (yaml, json) => {
    expect(yamlToJson(yaml).json).toBe(json);
  });

  it('accepts flags, and findings name line and column of the YAML file', async () => {
    const yaml = 'messages:\n  - role: user\n    content: "é"\nseed: x\nn: 1.5\n';
    const { code, stderr } = await dryRun(yaml, '--temperature', '0.5');
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: `svc: the body is invalid in 2 places; nothing was sent
  body.yaml:4:7 seed: must be an integer from -9223372036854775808 to 9223372036854775807 or null, not "x"
  body.yaml:5:4 n: must be an integer or null, not 1.5
`,
    });
    expect((await dryRun('messages: []\n', '--temperature', '0.5')).stdout).toBe('{"messages":[],"temperature":0.5}');
  });

  it.each<[string, string | Uint8Array, string]>([
    [
      '.nan',
      'messages: []\ntemperature: .nan\n',
      'body.yaml:2:14: invalid YAML body: .nan is not a JSON number; use a number or null',
    ],
    [
      '.inf',
      'temperature: -.inf\n',
      'body.yaml:1:14: invalid YAML body: -.inf is not a JSON number; use a number or null',
    ],
    [
      '%YAML 1.1',
      '%YAML 1.1\n---\nmessages: []\n',
      'body.yaml:1:1: invalid YAML body: %YAML 1.1; only YAML 1.2 is accepted',
    ],
    [
      'two documents',
      'a: 1\n---\nb: 2\n',
      'body.yaml:2:1: invalid YAML body: several documents; a body must be one document',
    ],
    [
      'a key that is an array',
      'messages: []\n? [a]\n: 1\n',
      'body.yaml:2:3: invalid YAML body: a key must be a string',
    ],
    ['a duplicate key', 'a: 1\na: 2\n', 'body.yaml:2:1: invalid YAML body: Map keys must be unique'],
    ['a duplicate key in YAML', '0x1: 1\n1: 2\n', 'body.yaml:2:1: invalid YAML body: Map keys must be unique'],
    ['a duplicate key in JSON', '{1: 1, "1": 2}\n', 'body.yaml:1:8: invalid YAML body: Map keys must be unique'],
    ['a value that does not fit its tag', 'a: !!int x\n', 'body.yaml:1:4: invalid YAML body: the value is not a !!int'],
    ['a tab', 'a:\n\t- 1\n', 'body.yaml:2:'],
    ['an unknown alias', 'a: *b\n', 'body.yaml:1:4: invalid YAML body: '],
    [
      'a merge key',
      'a: &a {b: 1}\nc:\n  <<: *a\n',
      'body.yaml:3:3: invalid YAML body: << is a merge key; write the fields out',
    ],
    ['a merge key in a flow', 'a: {b: 1, <<: {c: 2}}\n', 'body.yaml:1:11: invalid YAML body: << is a merge key'],
    ['an explicit merge key', '? <<\n: [{a: 1}]\n', 'body.yaml:1:3: invalid YAML body: << is a merge key'],
    ['an alias of a list as a key', 'a: &a [b]\n*a : 1\n', 'body.yaml:2:1: invalid YAML body: a key must be a string'],
    [
      'an alias as a key that another has',
      'a: &a b\nb: 1\n*a : 2\n',
      'body.yaml:3:1: invalid YAML body: Map keys must be unique',
    ],
    ['an unknown alias as a key', '*a : 1\n', 'body.yaml:1:1: invalid YAML body: the alias *a has no anchor'],
    ['an unknown tag', 'a: !foo b\n', 'body.yaml:1:4: invalid YAML body: Unresolved tag: !foo'],
    ['a time', 'a: !!timestamp 2026-01-01\n', 'body.yaml:1:4: invalid YAML body: the tag !!timestamp has no JSON form'],
    ['bytes', 'a: [!!binary aGk=]\n', 'body.yaml:1:5: invalid YAML body: the tag !!binary has no JSON form'],
    ['a tagged key', '!!binary aGk=: 1\n', 'body.yaml:1:1: invalid YAML body: the tag !!binary has no JSON form'],
    ['an ordered map', 'a: !!omap [b: 1]\n', 'body.yaml:1:4: invalid YAML body: the tag !!omap has no JSON form'],
    ['pairs', '!!pairs [b: 1, b: 2]\n', 'body.yaml:1:1: invalid YAML body: the tag !!pairs has no JSON form'],
    ['a set', 'a: !!set {b, c}\n', 'body.yaml:1:4: invalid YAML body: the tag !!set has no JSON form'],
    ['an alias in itself', 'a: &a [*a]\n', 'nested too deeply'],
    ['an array', '- 1\n', 'body.yaml:1:1: must be an object, not an array'],
    [
      'text that is not UTF-8',
      Buffer.from([0x61, 0x3a, 0x20, 0xff]),
      'body.yaml:1:4: invalid YAML body: invalid UTF-8',
    ],
    ['gzip', Buffer.from([0x1f, 0x8b, 0x08, 0x00]), 'body.yaml:1:1: invalid YAML body: this is compressed with gzip'],
    [
      'a bomb of aliases',
      `a: &a [x,x,x,x,x,x,x,x,x,x]\n${[...'bcdefghijkl'].map((name, at) => `${name}: &${name} [${`*${'abcdefghijk'[at]},`.repeat(10)}]\n`).join('')}`,
      'the aliases expand too far',
    ],
    ['deep nesting', '['.repeat(100_000), 'body.yaml:1:503: invalid YAML body: nested too deeply'],
    ['a large file', `a: "${'x'.repeat(1024 * 1024)}"\n`, 'larger than 1 MiB; write large bodies as JSON'],
  ])('%s is rejected with its location', async (_, yaml, message) => {
    const { code, stderr, stdout } = await dryRun(yaml);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toContain(message);
  });

  it('has the value that an independent writer wrote', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(yamlToJson(stringify(value)).json)).toEqual(value);
      }),
      { numRuns: 500, seed: 1 },
    );
  });
});

it.each([
  ['stdin', ['chat', '-f', '-']],
  ['stdin', ['train']],
  ['body.txt', ['call', 'start', '-f', 'body.txt']],
])('YAML in %s is not JSON, and the hint names YAML files: svc %s', async (_, args) => {
  for (const text of ['model: x\n', '# model\nmodel: x\n', '---\nmodel: x\n']) {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'body.txt'), text);
    const { code, stderr } = await svc([...args, '--local'], { cwd, stdin: text });
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /^ {2}a body is JSON, or YAML in a file whose name ends in \.yaml or \.yml: -f body\.yaml$/m,
    );
  }
  const { stderr } = await svc(['chat', '-f', '-', '--local'], { stdin: '{"model": x}' });
  expect(stderr).not.toContain('YAML');
});
