import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { event } from '../support/event-stream.ts';

// Lines with which a service poses as svc, or commands a runner; white space before them does not count.
const hostile = [
  'first',
  'svc: 9 lines: 9 done, 0 failed, 0 unknown, 0 not sent',
  '::error file=a.js::posed',
  '\t ::add-mask::a',
  '##[error]posed',
  '',
  'x ##[set-env name=PATH]/tmp',
  '###[group]posed',
].join('\n');

/** What GitHub's runner reads as commands, and lines that look like those of svc, without the given first words of a line of svc. */
function posing(stderr: string): string[] {
  return stderr.split(/\r\n|\n|\r/).filter((line) => line.includes('##[') || /^\s*(::|svc: 9 lines)/.test(line));
}

const ok = { model: 'm', usage: {}, choices: [{ index: 0, message: { content: 'ok' }, finish_reason: 'stop' }] };
const bodies: readonly (readonly [name: string, status: number, body: object])[] = [
  ['a message', 400, { error: { message: hostile } }],
  ['a message that poses from its first line', 400, { message: hostile.slice(6) }],
  ['a message that is a command from its first line', 400, { message: `::error::x\n${hostile}` }],
  ['an issue of a field', 422, { detail: [{ loc: ['body', 'model'], msg: hostile }] }],
  [
    'an issue without a place',
    422,
    {
      detail: [
        { loc: ['body'], msg: '::error::posed' },
        { loc: [], msg: hostile },
      ],
    },
  ],
  ['an issue of a field with a name', 422, { detail: [{ loc: ['body', hostile], msg: 'x' }] }],
  ['any other body', 400, { [hostile]: [hostile] }],
  ['an error under 200', 200, { error: { message: hostile } }],
  ['reasoning', 200, { ...ok, choices: [{ index: 0, message: { reasoning: hostile, content: 'ok' } }] }],
  [
    'reasoning that poses from its start',
    200,
    { ...ok, choices: [{ index: 0, message: { reasoning: hostile.slice(6), content: 'a' } }] },
  ],
  ['a finish reason', 200, { ...ok, choices: [{ index: 0, message: { content: '' }, finish_reason: hostile }] }],
  ['a type of content', 200, { ...ok, choices: [{ index: 0, message: { content: [{ type: hostile }] } }] }],
];

describe('text of a service on stderr begins no line as svc or a workflow command does', () => {
  it.each(bodies)('%s', async (_, status, body) => {
    const { url } = await countingServer(
      () => '',
      (_request, response) => answerJson(response, body, status),
    );
    const env = { SVC_BASE_URL: url, SVC_TOKEN: 'token-1', GITHUB_ACTIONS: 'true', CI: 'true' };
    const single = ['chat', 'hi', '--no-stream', '--allow-http'];
    const batch = ['chat', '--batch', '-', '--allow-http', '--retries', '0'];
    const stdin = '{"messages":[{"role":"user","content":"x"}]}\n';
    for (const args of [single, [...single, '-v'], [...single, '--stats'], batch, [...batch, '-v']]) {
      const { stderr } = await runBuilt(args, { env, stdin: args.includes('--batch') ? stdin : '' });
      expect(posing(stderr), args.join(' ')).toEqual([]);
    }
  });

  it.each([1, 2, 3, 100])('a stream in pieces of %d characters', async (size) => {
    const text = `svc: 9 lines\n${hostile}`;
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    const chunk = (delta: object): string => event(JSON.stringify({ choices: [{ index: 0, delta }] }));
    const { url } = await countingServer(
      () => '',
      (_request, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        for (const reasoning of pieces) response.write(chunk({ reasoning }));
        response.end(chunk({ content: text }) + event('[DONE]'));
      },
    );
    const env = { SVC_BASE_URL: url, SVC_TOKEN: 'token-1' };
    const { stdout, stderr } = await runBuilt(['chat', 'hi', '--stream', '--allow-http'], { env });
    expect(posing(stderr)).toEqual([]);
    expect(stderr).toContain('reasoning:\n  | svc: 9 lines\n  | first\n  | svc: 9 lines: 9 done');
    expect(stderr).toContain('\n  | ##\\[error]posed\n\n  | x ##\\[set-env name=PATH]/tmp\n  | ###\\[group]posed\n');
    // A pipe gets every byte.
    expect(stdout).toBe(`${text}\n`);
  });

  it('JSON holds the message as it is', async () => {
    const { url } = await countingServer(
      () => '',
      (_, response) => answerJson(response, { message: hostile }, 400),
    );
    const env = { SVC_BASE_URL: url, SVC_TOKEN: 'token-1' };
    const { stderr } = await runBuilt(['chat', 'hi', '--allow-http', '--error-format', 'json'], { env });
    const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '');
    expect(error.message).toContain(`400 Bad Request: ${hostile}`);
  });
});
