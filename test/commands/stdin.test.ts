import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type Clock, clock } from '../support/clock.ts';
import { answering, serviceEnv as env, type Recorded } from '../support/service.ts';
import { type Result, svc } from '../support/svc.ts';

/** A command that waits for an open stdin, on a clock that the test advances. */
interface Waiting extends Clock {
  readonly result: Promise<Result>;
  readonly stdin: PassThrough;
  readonly recorded: readonly Recorded[];
}

async function startWaiting(...args: readonly string[]): Promise<Waiting> {
  const time = clock();
  const stdin = new PassThrough();
  const { send, recorded } = answering('{}');
  const { after, elapsed } = time;
  const result = svc(args, { stdin, env, send, runtime: { after, elapsed } });
  await time.settled(() => stdin.listenerCount('readable') > 0);
  return { ...time, result, stdin, recorded };
}

const notice = (awaited: string, seconds: number): string =>
  `svc: waiting on stdin for ${awaited}; nothing has arrived for ${seconds} s; if there is none, add --no-stdin\n`;

const failure = (awaited: string, seconds: number): string =>
  `svc: nothing arrived on stdin within ${seconds} s; nothing was sent\n  svc waited for ${awaited}; if there is none, add --no-stdin; ${seconds < 600 ? 'to wait longer, set a longer --timeout' : 'to wait without a time limit, add --stdin'}\n`;

describe('a stdin that nothing names and that stays open without a byte', () => {
  it.each([
    ['chat hi', 'text to add to the prompt', 600],
    ['chat -m m', 'a prompt or a JSON body', 600],
    ['train', 'a JSON body', 600],
    ['call start', 'a JSON body', 600],
    ['feedback schema --timeout 20m', 'a JSON body', 600],
    ['chat hi --timeout 90s', 'text to add to the prompt', 90],
  ])('svc %s: a notice after 2 s and every 60 s, then exit 2', async (line, awaited, limit) => {
    const { advance, elapsed, result, recorded } = await startWaiting(...line.split(' '));
    const noticed = Array.from({ length: Math.ceil((limit - 2) / 60) }, (_, index) => 2 + 60 * index);
    for (const seconds of [...noticed, limit]) advance(seconds * 1000 - elapsed());
    const { code, stdout, stderr } = await result;
    const notices = noticed.map((seconds) => notice(awaited, seconds));
    expect({ code, stdout, stderr, recorded }).toEqual({
      code: 2,
      stdout: '',
      stderr: notices.join('') + failure(awaited, limit),
      recorded: [],
    });
  });

  it('with -q: the first notice is after 30 s; as JSON it is a note', async () => {
    const { advance, result } = await startWaiting('chat', 'hi', '-q', '--error-format', 'json', '--timeout', '95s');
    for (const seconds of [2, 27.999, 0.001, 60, 5]) advance(seconds * 1000);
    const { code, stderr } = await result;
    const lines = stderr
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text));
    const message = (seconds: number): string => notice('text to add to the prompt', seconds).slice(5, -1);
    expect(code).toBe(2);
    expect(lines).toEqual([
      { level: 'note', message: message(30) },
      { level: 'note', message: message(90) },
      { error: expect.objectContaining({ code: 'usage', exit_code: 2, applied: 'no', attempts: 0 }) },
    ]);
  });

  it('the first byte ends the notices and the limit, but not --timeout', async () => {
    const { advance, result, stdin, settled, pending } = await startWaiting('chat', 'hi', '--timeout', '20m');
    advance(599_000);
    stdin.write('slow');
    await settled(() => pending() === 1);
    advance(600_000);
    advance(1000);
    const { code, stderr } = await result;
    expect({ code, stderr }).toEqual({
      code: 12,
      stderr: `${notice('text to add to the prompt', 2)}svc: no end of stdin within 1200 s; nothing was sent\n  check what writes to it, or set a longer --timeout\n`,
    });
  });
});

describe('a stdin that is named', () => {
  it.each([
    ['chat hi --stdin', 'slow', '{"messages":[{"role":"user","content":"hi\\n\\nslow"}]}'],
    ['chat --stdin', 'slow', '{"messages":[{"role":"user","content":"slow"}]}'],
    ['chat --stdin', '{"messages":[]}', '{"messages":[]}'],
    [
      'chat --stdin --message user:first',
      'slow',
      '{"messages":[{"role":"user","content":"first"},{"role":"user","content":"slow"}]}',
    ],
    ['chat -f -', '{"messages":[]}', '{"messages":[]}'],
    ['chat hi --tools @-', '[]', '{"messages":[{"role":"user","content":"hi"}],"tools":[]}'],
    ['call start --stdin', '{"start":{"op_name":"x"}}', '{"start":{"op_name":"x"}}'],
    ['call start --stdin --op-name y', '{"start":{"op_name":"x"}}', '{"start":{"op_name":"y"}}'],
    ['train --stdin', '{"trajectory_groups":[]}', '{"trajectory_groups":[]}'],
  ])(
    'svc %s waits without a limit or a notice, and the default limit begins with the first byte',
    async (line, text, body) => {
      const flags = ['--exact', '--no-check'];
      const { advance, result, stdin, recorded } = await startWaiting(...line.split(' '), ...flags);
      for (let minute = 0; minute < 60; minute++) advance(60_000);
      stdin.end(text);
      expect(await result).not.toMatchObject({ stderr: expect.stringContaining('waiting') });
      expect(recorded.map((request) => request.body)).toEqual([body]);
    },
  );

  it('is subject to the default limit from its first byte on', async () => {
    const { advance, result, stdin, settled, pending } = await startWaiting('call', 'start', '--stdin');
    advance(3_600_000);
    stdin.write('{');
    await settled(() => pending() === 1);
    advance(120_000);
    expect(await result).toMatchObject({ code: 12, stderr: expect.stringContaining('no end of stdin within 120 s') });
  });

  it.each(['--stdin', '-f -'])('as %s: a --timeout includes the wait', async (flags) => {
    const { advance, result } = await startWaiting('call', 'start', '--timeout', '5s', ...flags.split(' '));
    advance(5000);
    expect(await result).toMatchObject({
      code: 12,
      stderr: expect.stringMatching(/^svc: no end of stdin within 5 s;/),
    });
  });
});

it.each([
  ['chat --stdin --batch x.jsonl', '--stdin cannot be combined with --batch'],
  ['call start --stdin -f call.json', '--stdin cannot be combined with --file'],
  ['call start --stdin --attributes @-', '--stdin and --attributes @- both name it'],
  ['chat - --stdin', '--stdin and the argument - both name it'],
  ['call start --no-stdin', 'no body was given'],
  ['chat --no-stdin', 'no body was given'],
])('svc %s is a wrong command line', async (line, message) => {
  const { code, stderr } = await svc(line.split(' '), { stdin: '{}', env });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
});
