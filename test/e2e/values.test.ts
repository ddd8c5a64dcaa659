import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allCommands } from '../../src/cli/all-commands.ts';
import { flagName } from '../../src/fields/field.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import { flagTarget } from '../../src/operations/operation.ts';
import { runBuilt } from '../support/built.ts';
import { temporaryDirectory } from '../support/svc.ts';

/** What svc prints about a flag with a value, without the other flags that the command needs. */
async function printed(name: string, flag: string, value: string): Promise<string> {
  const { stderr } = await runBuilt([
    ...name.split(' '),
    ...(name === 'chat' ? ['hi'] : []),
    flag,
    value,
    '--local',
    '--dry-run',
    '--no-stdin',
  ]);
  return stderr.split('\n').find((line) => line.includes(flag)) ?? '';
}

describe('a number as people write it', () => {
  const numbers = allOperations.flatMap((operation) =>
    Object.entries(flagTarget(operation).fields).flatMap(([name, { type }]) =>
      type === 'number' || type === 'integer' ? [[operation.command.join(' '), `--${flagName(name)}`, type]] : [],
    ),
  );

  it.each(numbers)('svc %s %s: the printed next step is accepted', async (name = '', flag = '', type) => {
    for (const [value, meant] of [
      ['1_000', '1000'],
      ...(type === 'number'
        ? [
            ['0,5', '0.5'],
            ['½', '0.5'],
          ]
        : []),
    ]) {
      expect(await printed(name, flag, value ?? '')).toContain(`; write ${flag} ${meant}`);
      expect(await printed(name, flag, meant ?? '')).not.toMatch(/must be/);
    }
  });

  it.each([
    ['0,7', '0.7'],
    ['95%', '0.95'],
    ['1.000,5', '1000.5'],
    ['1,000.5', '1000.5'],
    ['1 000 000', '1000000'],
    ['.5', '0.5'],
    ['+1', '1'],
    ['007', '7'],
    ['0x10', '16'],
    ['4k', '4000'],
    ['１', '1'],
    ['9_007_199_254_740_993', '9007199254740993'],
  ])('%s in a body, as text and as JSON of --set', async (text, meant) => {
    const chat = ['chat', 'hi', '--local', '--dry-run'];
    const step = `; write --set length_penalty:=${meant}`;
    expect((await runBuilt([...chat, '--set', `length_penalty=${text}`])).stderr).toContain(step);
    expect((await runBuilt([...chat, '--set', `length_penalty:=${text}`])).stderr).toContain(step);
    const stdin = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], length_penalty: text });
    const { stderr } = await runBuilt(['chat', '-f', '-', '--local', '--dry-run'], { stdin });
    expect(stderr).toContain(`; write ${meant} without quotes`);
    const given = await runBuilt([...chat, '--set', `length_penalty:=${meant}`]);
    expect(given.stdout).toContain(`"length_penalty":${meant}`);
  });

  it('that may be two numbers names both', async () => {
    expect(await printed('chat', '--length-penalty', '1,000')).toContain(
      'write --length-penalty 1000 or --length-penalty 1',
    );
  });

  it.each([
    [['chat', 'hi', '--retries', '1e1'], '10'],
    [['chat', '--rows', 'x.csv', '{{a}}', '--limit', '1_000'], '1000'],
    [['chat', '--rows', 'x.csv', '{{a}}', '--max-cost', '2,5'], '2.5'],
    [['chat', '--rows', 'x.csv', '{{a}}', '--rate', '0,5'], '0.5'],
    [['serve', '--port', '8.080'], '8080'],
    [['serve', '--fault', 'chance=50%,status=503'], '0.5'],
    [['chat', 'hi', '--timeout', '0,5s'], '0.5s'],
    [['chat', 'hi', '--timeout', '5 minutes'], '5m'],
    [['chat', 'hi', '--timeout', '1 h 30 min'], '1h30m'],
    [['chat', 'hi', '--timeout', '500 msec'], '500ms'],
    [['chat', 'hi', '--timeout', '1_000'], '1000'],
    [['chat', 'hi', '--timeout', '2 months'], '596h'],
    [['chat', 'hi', '--timeout', '95%'], '596h'],
    [['train', 'x.jsonl', '--max-spool', '64 MiB'], '64M'],
  ])('in %j', async (args, meant) => {
    const { code, stderr } = await runBuilt([...args, ...(args[0] === 'serve' ? [] : ['--local'])]);
    expect([code, stderr.trimEnd().split(/ |=/).at(-1)]).toEqual([2, meant]);
  });

  it.each(['abc', '0,7'])('%j for a count names what a count is', async (value) => {
    const { stderr } = await runBuilt(['chat', 'hi', '--local', `--retries=${value}`]);
    expect(stderr).toMatch(/use a number from 0 to 99/);
  });
});

it('a word after := is offered as text where the field may be text', async () => {
  const chat = ['chat', 'hi', '--local', '--dry-run', '--set'];
  expect((await runBuilt([...chat, 'user:=hello'])).stderr).toContain('; for text, write --set user=hello');
  expect((await runBuilt([...chat, 'metadata.a:=two words'])).stderr).toContain(`write --set 'metadata.a=two words'`);
  expect((await runBuilt([...chat, 'n:=hello'])).stderr).toContain('; write an integer or null');
});

describe('a number of seconds that is rather milliseconds', () => {
  const durations = allCommands.flatMap(({ name, listedFlags, argument }) =>
    argument?.usage || name === 'serve'
      ? []
      : listedFlags.flatMap((flag) => (flag.value === '<duration>' ? [[name, `--${flag.name}`] as const] : [])),
  );

  it('is pointed out for every flag of a duration, and counts as before', async () => {
    expect(durations.length).toBeGreaterThan(5);
    for (const [name, flag] of durations) {
      const { stderr } = await runBuilt([
        ...name.split(' '),
        ...(name === 'profile set' ? ['x'] : []),
        flag,
        '30000',
        '--no-input',
      ]);
      expect(stderr, `${name} ${flag}`).toContain(
        `${flag} 30000 is 30000 seconds; write 30000s for seconds, or 30000ms`,
      );
    }
  });

  it.each(['500', '1000', '1500', '45000', '60000', '120000', '300000'])('%s', async (text) => {
    const { code, stderr } = await runBuilt(['chat', 'hi', '--local'], { env: { SVC_TIMEOUT: text } });
    expect([code, stderr.split('\n')[0]]).toEqual([
      0,
      `svc: warning: SVC_TIMEOUT=${text} is ${text} seconds; write ${text}s for seconds, or ${text}ms for milliseconds`,
    ]);
  });

  it.each(['5', '90', '499', '600', '900', '1800', '3600', '7200', '86400', '500ms', '1000s'])(
    'not: %s',
    async (text) => {
      const { code, stderr } = await runBuilt(['chat', 'hi', '--local', '-q', '--timeout', text]);
      expect([code, stderr]).toEqual([0, '']);
      const { stderr: said } = await runBuilt(['chat', 'hi', '--local', '--timeout', text]);
      expect(said).not.toContain('milliseconds');
    },
  );
});

describe('a value of another type', () => {
  it.each([
    ['messages', 'hi', '[{"role":"user","content":"hi"}]'],
    ['messages', ['hi'], '{"role":"user","content":"hi"}'],
    ['messages', { role: 'user', content: 'hi' }, 'it in brackets: [{...}]'],
    ['tool_choice', 'lookup', '{"type":"function","function":{"name":"lookup"}}'],
    ['response_format', 'json_object', '{"type":"json_object"}'],
    ['documents', 'x', '[{"text":"x"}]'],
    ['logprobs', 5, 'true, and "top_logprobs":5'],
    ['stream', 'true', 'true without quotes'],
    ['n', '2', '2 without quotes'],
  ])('of %s, %j: says what to write', async (name, value, meant) => {
    const stdin = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], [name]: value });
    const { code, stderr } = await runBuilt(['chat', '-f', '-', '--local'], { stdin });
    expect([code, stderr.includes(`; write ${meant}\n`)], stderr).toEqual([3, true]);
  });

  it.each([
    'messages=hi',
    'tool_choice=lookup',
    'response_format=text',
    'logprobs=true',
    'tools=[{"type":"function"}]',
  ])('--set %s: the printed --set is accepted', async (assignment) => {
    const chat = ['chat', '--local', '--dry-run', '--no-stdin', '--message', 'user:hi'];
    const { stderr } = await runBuilt([...chat, '--set', assignment]);
    const [, , step = ''] = /write --set ('?)([^']*)\1$/m.exec(stderr) ?? [];
    expect((await runBuilt([...chat, '--set', step])).code, stderr).toBe(0);
  });

  it('--logprobs with a number names both flags', async () => {
    for (const words of [
      ['--logprobs', '5', 'hi'],
      ['hi', '--logprobs=5'],
    ]) {
      const { code, stderr } = await runBuilt(['chat', ...words, '--local']);
      expect([code, stderr.includes('write --logprobs --top-logprobs 5 instead')]).toEqual([2, true]);
    }
  });
});

it.each([
  ['{"messages":[', 'unexpected end of input; a value is missing, or the text was cut off'],
  ['{"messages":[{"role":"user"', 'unexpected end of input; "," or "}" is missing, or the text was cut off'],
  ['{"messages":[{"role"', 'unexpected end of input; ":" is missing, or the text was cut off'],
  ['{"messages":[{"role":"us', 'the text ends inside a string; a closing quote is missing, or the text was cut off'],
  ['{"temperature":NaN}', 'NaN is not a JSON number; use a number or null'],
])('a body that is %s says why', async (stdin, message) => {
  const { code, stderr } = await runBuilt(['chat', '-f', '-', '--local'], { stdin });
  expect([code, stderr.split('\n')[1]?.endsWith(message)], stderr).toEqual([3, true]);
});

it('{{column}} without a table is sent with a warning, except in a chat template', async () => {
  const chat = ['--local', '--dry-run', '--no-stdin'];
  for (const words of [['hi {{name}}'], ['hi', '-s', '{{ name }}'], ['--message', 'user:{{first name}}']]) {
    const { code, stderr } = await runBuilt(['chat', ...words, ...chat]);
    expect([code, /\{\{.*name *\}\} is sent as it is; .* add --rows <file>/.test(stderr)]).toEqual([0, true]);
  }
  const template = await runBuilt(['chat', 'hi', '--chat-template', '{{ messages }}', ...chat]);
  expect(template.stderr).not.toContain('--rows');
});

it.each(['1,2', '1 2', '[1, 2]'])('several numbers in one value, %s: repeats the flag', async (value) => {
  const chat = ['chat', 'hi', '--local', '--dry-run'];
  const { stderr } = await runBuilt([...chat, '--stop-token-ids', value]);
  expect(stderr).toContain('; write --stop-token-ids 1 --stop-token-ids 2\n');
});

it.each([
  ['7 days', 'write it as 7d'],
  ['12 Hours', 'write it as 12h'],
  ['90sec', 'write it as 90s'],
  ['2 weeks', 'write it as 2w'],
  ['2months', 'write 90s, 15m, 12h, 7d or 2w'],
  ['7', 'write 90s, 15m, 12h, 7d or 2w'],
])('an age of %s', async (age, hint) => {
  const { code, stderr } = await runBuilt(['feedback', 'schema', '--project-id', 'a/b', '--since', age, '--local']);
  expect([code, stderr]).toEqual([2, `svc: --since: ${JSON.stringify(age)} is not an age\n  ${hint}\n`]);
});

it('a number beyond the range of its flag is not offered', async () => {
  const schema = [
    'feedback',
    'schema',
    '--project-id',
    'a/b',
    '--since',
    '7d',
    '--local',
    '--dry-run',
    '--sample-limit',
  ];
  expect((await runBuilt([...schema, '1k'])).stderr).toContain('; write --sample-limit 1000\n');
  expect((await runBuilt([...schema, '10k'])).stderr).not.toContain('write');
});

it.each([
  [['--system', ''], '--system "" is sent as it is; is a variable unset'],
  [['--user', ''], '--user "" is sent as it is; is a variable unset'],
  [['-o', '$OUT'], '--output $OUT is a file of this name'],
])('a variable that no shell replaced is named: %j', async (args, warning) => {
  const { code, stderr } = await runBuilt(['chat', 'hi', ...args, '--local', '--dry-run', '--no-stdin']);
  expect([code, stderr]).toEqual([0, expect.stringContaining(`warning: ${warning}`)]);
});

describe('training data that somebody did not mean', () => {
  const group = (fields: object) =>
    JSON.stringify({ trajectories: [{ messages_and_choices: [{ role: 'user', content: 'hi' }], ...fields }] });
  const train = async (args: readonly string[]) => {
    const cwd = temporaryDirectory();
    const data = {
      'none.jsonl': {},
      'null.jsonl': { reward: null },
      'other.jsonl': { rewards: 1 },
      'good.jsonl': { reward: 1 },
    };
    for (const [name, fields] of Object.entries(data)) writeFileSync(join(cwd, name), group(fields));
    return runBuilt(['train', ...args, '--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05', '--local'], { cwd });
  };

  it.each(['none.jsonl', 'null.jsonl', 'other.jsonl'])(
    '%s has no reward at all: the interface allows it, and a warning says so',
    async (name) => {
      const { code, stderr } = await train([name]);
      expect([code, stderr]).toEqual([0, expect.stringContaining('no trajectory has a reward')]);
      expect((await train([name, '--strict'])).code).toBe(3);
    },
  );

  it.each([['good.jsonl'], ['.']])('a file and %s, which has it: exit 2', async (other) => {
    const { code, stderr } = await train(['./good.jsonl', other]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('good.jsonl is given twice\n')]);
  });

  it('lr is a word for learning_rate', async () => {
    const { stderr } = await train(['good.jsonl', '--dry-run', '--experimental-config', '{"lr":1}']);
    expect(stderr).toContain('experimental_config.lr: is not a known field; write learning_rate\n');
  });

  it('--strict rejects a parameter that is misspelled', async () => {
    const args = ['good.jsonl', '--experimental-config', '{"learnign_rate":2e-5}', '--dry-run'];
    const { code, stderr } = await train(args);
    expect([code, stderr]).toEqual([0, expect.stringContaining('did you mean learning_rate?')]);
    expect(await train([...args, '--strict'])).toMatchObject({ code: 3, stdout: '' });
  });
});

it.each(['1769851800', '1769851800123', '1769851800123456'])(
  'a span that starts at %s is not of 1970',
  async (start) => {
    const span = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), name: 'x', startTimeUnixNano: start };
    const stdin = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
    const { code, stderr } = await runBuilt(['call', 'import', '-', '--project-id', 'a/b', '--local', '--dry-run'], {
      stdin,
    });
    expect([code, stderr]).toEqual([3, expect.stringContaining(`no startTimeUnixNano in nanoseconds, but "${start}"`)]);
  },
);
