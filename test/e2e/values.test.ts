import { describe, expect, it } from 'vitest';
import { flagName } from '../../src/fields/field.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import { flagTarget } from '../../src/operations/operation.ts';
import { runBuilt } from '../support/built.ts';

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
