import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { serviceEnv } from '../support/service.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const chatFlags: [flags: string[], problem: string][] = [
  [['--set', 'x'], '--set "x" has no ='],
  [['--json-schema', '{}', '--set', 'response_format=x'], 'set the same field'],
  [['--json-schema', '{}', '--response-format', '{}'], '--json-schema cannot be combined with --response-format'],
  [['--message', 'foo'], '--message: "foo" has no role'],
  [['--cache-salt', 'abc'], '--cache-salt is a secret'],
  [['--cache-salt', '@'], '--cache-salt @ has no file name'],
  [['--tools', '@'], '--tools @ has no file name'],
  [['--tools', '@nope.json', '--set', 'x'], '--set "x" has no ='],
  [['--json-schema', '@'], '--json-schema @ has no file name'],
  [['--expect-text', '('], '--expect-text: '],
  [['--expect-schema', '{'], '--expect-schema: not a JSON Schema'],
  [['--expect-schema', '@'], '--expect-schema @ has no file name'],
  [['--expect-max-latency', 'x'], '--expect-max-latency cannot be "x"'],
  [['--expect-schema', '@nope.json', '--expect-max-latency', 'x'], '--expect-max-latency cannot be "x"'],
];

const schemaFlags: typeof chatFlags = [
  [['--since', 'week'], '--since: "week" is not an age'],
  [['--since', '9999999d'], '--since: "9999999d" is a time before the year 0'],
  [['--update'], '--update needs --expect'],
];

describe('an invalid flag is reported before', () => {
  it.each(chatFlags)(
    'a body that is missing or invalid, a conversation and stdin are read: %j',
    async (flags, problem) => {
      const cwd = temporaryDirectory();
      writeFileSync(join(cwd, 'bad.json'), '{');
      for (const input of [
        ['-f', 'nope.json'],
        ['-f', 'bad.json'],
        ['x', '--conversation', 'bad.json'],
        ['--batch', 'nope.jsonl'],
      ]) {
        // These belong to one body.
        if (input[0] === '--batch' && flags[0] === '--message') continue;
        const { code, stderr } = await svc(['chat', ...input, ...flags], { cwd, env: serviceEnv });
        expect({ code, stderr }, input.join(' ')).toEqual({ code: 2, stderr: expect.stringContaining(problem) });
      }
      const endless = new Readable({ read: () => {} });
      expect(await svc(['chat', 'x', ...flags], { cwd, env: serviceEnv, stdin: endless })).toMatchObject({ code: 2 });
    },
  );

  it.each(schemaFlags)('a body of feedback schema is read: %j', async (flags, problem) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'bad.json'), '{');
    for (const file of ['nope.json', 'bad.json']) {
      const { code, stderr } = await svc(['feedback', 'schema', '-f', file, ...flags], { cwd, env: serviceEnv });
      expect({ code, stderr }, file).toEqual({ code: 2, stderr: expect.stringContaining(problem) });
    }
  });

  it.each([['-f', 'nope.json'], ['-f', '-'], ['--dry-run']])('%j is read: the history mode', async (...input) => {
    const env = { ...serviceEnv, SVC_HISTORY: 'x' };
    const { code, stderr } = await svc(['chat', 'x', ...input], { env, stdin: new Readable({ read: () => {} }) });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('SVC_HISTORY cannot be "x"') });
  });

  it('stdin is read by the first of two flags that name it', async () => {
    const args = ['chat', '-f', '-', '--expect-schema', '@-'];
    const { code, stderr } = await svc(args, { env: serviceEnv, stdin: new Readable({ read: () => {} }) });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('stdin can be read only once') });
  });
});

it('files of expectations are read before the body is checked', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'body.json'), '{"model":1}');
  const args = ['chat', '-f', 'body.json', '--expect-schema', '@nope.json'];
  expect(await svc(args, { cwd, env: serviceEnv })).toMatchObject({ code: 12 });
});
