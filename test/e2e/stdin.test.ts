import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { inShell, start, waitForExit } from '../support/process.ts';

it.each(['SQLite is small', 'GIF89a is a version', '%PDF starts a file'])(
  'a prompt that begins as a file of another format is sent: %s',
  async (prompt) => {
    const { code, stdout } = await inShell('printf %s "$PROMPT" | svc chat -m m --local', { env: { PROMPT: prompt } });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`You said "${prompt}"`) });
  },
);

describe('a pipe as stdin that stays open without a byte', () => {
  const NOTICE =
    'svc: waiting on stdin for text to add to the prompt; nothing has arrived for 2 s; if there is none, add --no-stdin\n';
  const NOTHING =
    'svc: nothing arrived on stdin within 3 s; nothing was sent\n  svc waited for text to add to the prompt; if there is none, add --no-stdin; to wait longer, set a longer --timeout\n';

  // The shell itself keeps the pipe open.
  it.each([
    ['--timeout 3', NOTICE + NOTHING],
    ['--timeout 3 -q', NOTHING],
  ])('svc chat hi %s ends with exit 2, and a server saw nothing', async (flags, stderr) => {
    const server = await countingServer(String, (_, response) => answerJson(response, {}));
    const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1' };
    const result = await inShell(`mkfifo open; exec 3<> open; svc chat hi ${flags} < open`, { env });
    expect(result).toEqual({ code: 2, signal: null, stdout: '', stderr });
    expect(server.counts.size).toBe(0);
  });

  it('a line on stderr after 2 s says what svc waits for; text that arrives then is sent', async () => {
    const child = start(['chat', '--local', 'Sum up']);
    const result = waitForExit(child);
    child.stderr?.once('data', () => child.stdin?.end('slow'));
    const { code, stdout, stderr } = await result;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^svc: waiting on stdin for text/) });
    expect(stdout).toContain('You said "Sum up slow"');
  });

  it.each(['--no-stdin', '--dry-run --no-stdin'])('%s does not wait', async (flags) => {
    const result = await inShell(`mkfifo open; exec 3<> open; svc chat --local hi -q ${flags} < open`);
    expect(result).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('stdin that is not read because of flags', () => {
  const HINT = 'stdin was not read because flags were given; add -f - to read it';
  const UNREAD = `${HINT}, or --no-stdin to ignore it`;

  it('is named by the error about missing fields', async () => {
    const { code, stderr } = await inShell(`echo '{"project_id":"a/b"}' | svc feedback schema --since 1h --local`);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: `svc: the body is invalid; nothing was sent\n  --project-id: is required; or set SVC_PROJECT_ID (the local service uses no profile)\n  ${HINT}\n`,
    });
  });

  it('is a warning; with --strict nothing is sent; with -f - it is merged', async () => {
    const server = await countingServer(String, (_, response) => answerJson(response, { paths: [] }));
    const env = { SVC_BASE_URL: server.url, SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1' };
    const schema = (flags: string) =>
      inShell(
        `echo '{"feedback_type":"x"}' | svc feedback schema --start 2026-01-01T00:00:00Z --project-id a/b ${flags}`,
        { env },
      );
    expect(await schema('-q --strict')).toMatchObject({
      code: 3,
      stderr: `svc: the body is invalid; nothing was sent\n  ${UNREAD}\n`,
    });
    expect(server.counts.size).toBe(0);
    expect(await schema('')).toMatchObject({ code: 0, stderr: `svc: warning: ${UNREAD}\n` });
    expect(await schema('--strict -f -')).toMatchObject({ code: 0, stderr: '' });
    expect([...server.counts.keys()].map((body) => JSON.parse(body))).toEqual([
      { project_id: 'a/b', start: '2026-01-01T00:00:00Z' },
      { feedback_type: 'x', project_id: 'a/b', start: '2026-01-01T00:00:00Z' },
    ]);
  });

  const SCHEMA = 'svc feedback schema --project-id a/b --since 1h --local --json --strict';

  it.each([
    ['a file at its start', `echo x > input; ${SCHEMA} < input`, UNREAD],
    ['a pipe of which a line was read', `printf 'a\nb\n' | { read first; ${SCHEMA}; }`, UNREAD],
    ['an open pipe with data', `mkfifo open; exec 3<> open; echo x >&3; ${SCHEMA} < open`, UNREAD],
    ['text for a chat', 'svc chat --local --strict --message user:x <<< y', UNREAD.replace('-f -', '--stdin')],
  ])('%s: --strict refuses', async (_, line, message) => {
    const { code, stdout, stderr } = await inShell(line);
    expect({ code, stdout, stderr }).toEqual({
      code: 3,
      stdout: '',
      stderr: `svc: the body is invalid; nothing was sent\n  ${message}\n`,
    });
  });

  it.each([
    ['an empty device', `${SCHEMA} < /dev/null`],
    ['an empty file', `touch input; ${SCHEMA} < input`],
    ['a pipe at its end', `true | { read end; ${SCHEMA}; }`],
    ['an open pipe without data', `mkfifo open; exec 3<> open; ${SCHEMA} < open`],
    ['a socket', SCHEMA],
    ['a closed descriptor', `${SCHEMA} <&-`],
    ['--no-stdin', `${SCHEMA} --no-stdin <<< x`],
    ['-f with a file', `echo '{}' > body.json; ${SCHEMA} -f body.json <<< x`],
    ['--no-stdin of a chat', 'svc chat --local -q --strict --message user:x --no-stdin <<< y'],
  ])('%s is not mentioned', async (_, line) => {
    const { code, stderr } = await inShell(line);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it.each([
    ['over a file', `printf 'a\nb\nc\n' > input; while read p; do ${SCHEMA}; done < input`],
    ['over a pipe, with --no-stdin', `printf 'a\nb\nc\n' | while read p; do ${SCHEMA} --no-stdin; done`],
  ])('a loop %s keeps its input, and --strict accepts it', async (_, line) => {
    const { code, stdout, stderr } = await inShell(line);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '{"paths":[]}\n'.repeat(3), stderr: '' });
  });

  it('is a warning in a loop over a pipe while data waits, and the loop keeps its input', async () => {
    const { code, stdout, stderr } = await inShell(
      `printf 'a/b\nc/d\n' | while read p; do svc feedback schema --project-id "$p" --since 1h --local --json; done`,
    );
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: '{"paths":[]}\n{"paths":[]}\n',
      stderr: `svc: warning: ${UNREAD}\n`,
    });
  });

  it('that is read and empty is named by the error', async () => {
    const { code, stderr } = await inShell('svc chat --local < /dev/null');
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr:
        'svc: the body is invalid; nothing was sent\n  stdin:1:1 messages: is required\n  stdin was empty; give a prompt, pipe text or a JSON object into svc, or use -f body.json\n',
    });
  });

  it.each([
    ['svc chat --local - < /dev/null', 3, 'stdin was empty'],
    ['svc chat --local "$UNSET"', 2, 'the prompt is empty'],
    ['echo text | svc chat --local "$UNSET" " "', 2, 'the prompt is empty'],
  ])('is not sent as an empty prompt: %s', async (line, exitCode, problem) => {
    const { code, stderr } = await inShell(line);
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(problem) });
    expect(stderr).toMatch(/give a prompt, pipe text or a JSON object into svc, or use -f body\.json\n$/);
  });

  it.each(['feedback replace', 'feedback schema', 'train', 'call start'])(
    'that is empty is named by the error of svc %s',
    async (command) => {
      const { code, stderr } = await inShell(`svc ${command} --local < /dev/null`);
      expect([code, stderr]).toEqual([3, expect.stringMatching(/\n {2}stdin was empty; .*\n$/)]);
    },
  );
});
