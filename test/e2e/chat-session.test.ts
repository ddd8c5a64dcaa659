import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { done, streamHead } from '../support/event-stream.ts';
import { program } from '../support/process.ts';
import { rawServer } from '../support/raw-server.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';
import { hasTerminal, runLineOnTerminal, runOnTerminal } from '../support/terminal.ts';

interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

const event = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const READY = '\x1b[?2004h';
const UP = '\x1b[A';
const HOME = '\x01';
// To the third column of the row above.
const AFTER_PROMPT_ABOVE = '\x1b[3G\x1b[1A';
const CTRL_C = '\x03';
const CTRL_D = '\x04';
// As the arrow, which in later versions of Node first moves within a text of several lines.
const CTRL_P = '\x10';
const CTRL_R = '\x12';
const CTRL_Z = '\x1a';

/** A server that numbers its responses; it never ends the one to `hold`, and fails on `fail`. */
async function chatServer(text: (number: number) => string) {
  const asked: ChatMessage[][] = [];
  const otherFields: object[] = [];
  const server = await rawServer((socket, request) => {
    const { messages, ...fields } = JSON.parse(request.toString().split('\r\n\r\n').slice(1).join('\r\n\r\n'));
    asked.push(messages);
    otherFields.push(fields);
    const prompt = messages.at(-1).content;
    if (prompt === 'fail') socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    else if (prompt === 'hold' && asked.length < 4) socket.write(streamHead + event({ content: 'beginning' }));
    else socket.end(`${streamHead}${event({ content: text(asked.length) })}${event({}, 'stop')}${done}`);
  });
  return { env: { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1', SVC_RETRIES: '0' }, asked, otherFields };
}

describe.skipIf(!hasTerminal)('an interactive chat (skipped where `script` of util-linux is missing)', () => {
  it.each([40, 120])('at %i columns: history, paste, Ctrl-C, /retry, /save', async (columns) => {
    const { env, asked } = await chatServer((number) => `response ${number}.`);
    const cwd = temporaryDirectory();
    const pasted = 'x'.repeat(10_000);
    writeFileSync(join(cwd, 'notes.txt'), 'my notes');
    const { code, screen } = await runOnTerminal(['chat', '-s', 'Be brief'], {
      env,
      cwd,
      columns,
      typed: [
        [READY, 'Hello\r'],
        ['response 1.', `${UP}\r`],
        ['response 2.', 'hold\r'],
        ['beginning', CTRL_C],
        ['stopped', '/retry\r'],
        ['response 4.', `\x1b[200~${pasted}\n\x1b[31msecond\x1b[201~`],
        ['second', '\r'],
        ['response 5.', '/stats\r'],
        ['to request it, start with svc chat --stats', '/save talk.json\r'],
        ['saved', '/save talk.json\r'],
        ['saved', '/save notes.txt\r'],
        ['notes.txt already exists, and was not replaced', `drop${CTRL_C}`],
        ['^C', CTRL_D],
      ],
    });
    expect(code).toBe(0);
    expect(asked.map((messages) => messages.at(-1)?.content)).toEqual([
      'Hello',
      'Hello',
      'hold',
      'hold',
      `${pasted}\n[31msecond`,
    ]);
    // The response that was stopped is not a part of the conversation.
    expect(
      asked
        .at(-1)
        ?.map(({ role }) => role)
        .join(' '),
    ).toBe('system user assistant user assistant user assistant user');
    expect(JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'))).toHaveLength(9);
    expect(statSync(join(cwd, 'talk.json')).mode & 0o777).toBe(0o600);
    expect(screen).toContain('\x1b[?2004l');
  });

  it('keeps lines together, changes the system message, and survives failures', async () => {
    const { env, asked, otherFields } = await chatServer((number) => `response ${number}.`);
    const cwd = temporaryDirectory();
    const { code, screen } = await runOnTerminal(['chat', '--conversation', 'talk.json'], {
      env,
      cwd,
      typed: [
        [READY, '"""\rfirst\rsecond"""\r'],
        ['response 1.', '/system Answer in Latin\rlast\\\rline\r'],
        ['response 2.', 'fail\r'],
        ['400', '/save missing/talk.json\r'],
        ['no such file', '/save talk.json\r'],
        ['saved 5 messages', '/clear\r-\r'],
        ['response 4.', '/save talk.json\r'],
        ['talk.json already exists, and was not replaced', '/exit\r'],
      ],
    });
    expect(code).toBe(0);
    expect(asked[0]).toEqual([{ role: 'user', content: 'first\nsecond' }]);
    expect(otherFields).toEqual(Array(4).fill({ stream: true }));
    expect(asked[1]?.map(({ content }) => content)).toEqual([
      'Answer in Latin',
      'first\nsecond',
      'response 1.',
      'last\nline',
    ]);
    expect(asked[3]?.map(({ content }) => content)).toEqual(['Answer in Latin', '-']);
    // The new conversation does not replace the one in the file.
    expect(JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'))).toHaveLength(5);
    expect(screen).toContain('talk.json keeps the earlier messages');
  });

  it('runs the credential_command once for each turn, the first time before a prompt is typed', async () => {
    const { env, asked } = await chatServer((number) => `response ${number}.`);
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'give'), '#!/bin/sh\necho run >>../ran\necho tok-en-1\n', { mode: 0o755 });
    const set = ['profile', 'set', 'default', '--base-url', env.SVC_BASE_URL, '--credential-command', './give'];
    expect(await svc(set, { cwd })).toMatchObject({ code: 0 });
    const { code } = await runOnTerminal(['chat'], {
      cwd,
      typed: [
        [READY, 'one\r'],
        ['response 1.', 'two\r'],
        ['response 2.', CTRL_D],
      ],
    });
    expect({ code, turns: asked.length }).toEqual({ code: 0, turns: 2 });
    expect(readFileSync(join(cwd, 'ran'), 'utf8')).toBe('run\nrun\n');
  });

  it('shows a prompt that was typed during the response before it', async () => {
    const { env, asked } = await chatServer((number) => `response ${number}.`);
    const { screen } = await runOnTerminal(['chat'], {
      env,
      typed: [
        [READY, 'one\rtwo\r'],
        ['response 2.', CTRL_D],
      ],
    });
    expect(asked).toHaveLength(2);
    expect(screen).toContain('response 1.\r\n> two\r\nresponse 2.');
  });

  it.each(['typed meanwhile\rand this\r', '"""foo\rbar\r', 'continued\\\r', 'unfinished'])(
    'does not send what is typed during a response that Ctrl-C stops: %j',
    async (meanwhile) => {
      const { env, asked } = await chatServer((number) => `response ${number}.`);
      const { code } = await runOnTerminal(['chat'], {
        env,
        typed: [
          [READY, `hold\r${meanwhile}`],
          ['beginning', CTRL_C],
          ['stopped', 'next\r'],
          ['response 2.', CTRL_D],
        ],
      });
      expect(code).toBe(0);
      expect(asked.map((messages) => messages.map(({ content }) => content))).toEqual([['hold'], ['next']]);
    },
  );

  it('draws the typed text for the new width when the terminal is resized, and nothing during a response', async () => {
    const { env, asked } = await chatServer((number) => `response ${number}.`);
    const typed = `${'x'.repeat(70)}end`;
    const { code, screen } = await runOnTerminal(['chat'], {
      env,
      columns: 40,
      typed: [
        [READY, typed],
        ['end', HOME],
        [AFTER_PROMPT_ABOVE, 120],
        // Both keys arrive in one chunk, with the cursor at the start of the line.
        ['end', 'y\r'],
        ['response 1.', 'hold\r'],
        ['begin', 60],
        ['ning', CTRL_C],
        ['stopped', CTRL_D],
      ],
    });
    expect(code).toBe(0);
    expect(asked.map((messages) => messages.at(-1)?.content)).toEqual([`y${typed}`, 'hold']);
    // One row now, so the cursor moves up no more.
    expect(screen).toContain(`${AFTER_PROMPT_ABOVE}\x1b[1G\x1b[0J> ${typed}\x1b[3G\x1b[1G\x1b[0J> y${typed}`);
    expect(screen.slice(screen.indexOf('beginning'), screen.indexOf('stopped'))).not.toContain('> ');
  });

  it.each([
    ['a pasted text', '\x1b[200~first\n/clear\x1b[201~\r', 'first\n/clear'],
    ['lines between quotes', '"""\rfirst\rsecond\r"""\r', 'first\nsecond'],
    ['lines that end with a backslash', 'first\\\r\r', 'first\n'],
  ])('recalls %s as a whole', async (_, typed, text) => {
    const { env, asked } = await chatServer((number) => `response ${number}.`);
    const { code } = await runOnTerminal(['chat'], {
      env,
      typed: [
        [READY, 'before\r'],
        ['response 1.', typed],
        ['response 2.', `${UP}\r`],
        ['response 3.', `${CTRL_P}${CTRL_P}\r`],
        ['response 4.', CTRL_D],
      ],
    });
    expect(code).toBe(0);
    expect(asked.map((messages) => messages.at(-1)?.content)).toEqual(['before', text, text, 'before']);
  });

  it('continues after Ctrl-Z, with the typed text and during a response', async () => {
    const { env, asked } = await chatServer((number) => `response ${number}.`);
    const { code, screen } = await runLineOnTerminal(
      `bash --norc -c 'set -m; "$@"; fg; fg' bash ${process.execPath} ${program} chat`,
      {
        env,
        typed: [
          [READY, 'hol'],
          ['hol', CTRL_Z],
          [READY, 'd\r'],
          ['beginning', CTRL_Z],
          [READY, CTRL_C],
          ['stopped', '\x1b[200~a\nb\x1b[201~\r'],
          ['response 2.', CTRL_D],
        ],
      },
    );
    expect(code).toBe(0);
    expect(asked.map((messages) => messages.at(-1)?.content)).toEqual(['hold', 'a\nb']);
    // The shell gets a terminal that does not mark pastes.
    expect(screen.split('\x1b[?2004l')).toHaveLength(4);
  });

  it.each([
    ['stopped', 'stopped'],
    ['failed', '400'],
  ])('keeps the turn whose /retry %s', async (outcome, message) => {
    const asked: ChatMessage[][] = [];
    const server = await rawServer((socket, request) => {
      asked.push(JSON.parse(request.toString().split('\r\n\r\n').slice(1).join('\r\n\r\n')).messages);
      if (asked.length !== 2)
        socket.end(`${streamHead}${event({ content: `response ${asked.length}.` })}${event({}, 'stop')}${done}`);
      else if (outcome === 'stopped') socket.write(streamHead + event({ content: 'beginning' }));
      else socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
    await runOnTerminal(['chat'], {
      env: { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1', SVC_RETRIES: '0' },
      typed: [
        [READY, 'one\r'],
        ['response 1.', '/retry\r'],
        ...(outcome === 'stopped' ? [['beginning', CTRL_C] as const] : []),
        [message, 'two\r'],
        ['response 3.', '/retry\r'],
        ['response 4.', 'three\r'],
        ['response 5.', CTRL_D],
      ],
    });
    const contents = asked.map((messages) => messages.map(({ content }) => content));
    const kept = ['one', 'response 1.', 'two'];
    expect(contents).toEqual([['one'], ['one'], kept, kept, [...kept, 'response 4.', 'three']]);
  });

  it('reports no request in flight when SIGTERM ends the prompt after a turn', async () => {
    const { env } = await chatServer((number) => `response ${number}.`);
    // Ctrl-Z at the second prompt lets the shell send the signal.
    const { code, screen } = await runLineOnTerminal(
      `bash --norc -c 'set -m; "$@"; kill %%; fg' bash ${process.execPath} ${program} chat --error-format json`,
      {
        env,
        typed: [
          [READY, 'Hello\r'],
          ['response 1.', ''],
          ['> ', CTRL_Z],
        ],
      },
    );
    expect(code).toBe(143);
    expect(screen).toContain('"message":"terminated; no request was in flight"');
    expect(screen).toMatch(/"applied":"yes",.*"attempts":1,/);
  });

  it('escapes control characters of the server', async () => {
    const { env } = await chatServer(() => 'a\x1b[2J\x1b]0;title\x07\u202eb');
    const { screen } = await runOnTerminal(['chat'], {
      env,
      typed: [
        [READY, 'Hi\r'],
        ['\\u202eb', CTRL_D],
      ],
    });
    expect(screen).not.toContain('\x1b[2J');
    expect(screen).not.toContain('\x1b]0;');
  });
});

describe.skipIf(!hasTerminal)('the history of an interactive chat', () => {
  const promptsIn = (cwd: string): string[] =>
    readFileSync(join(cwd, 'data', 'prompts.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).text);

  it('recalls texts of earlier sessions with the arrow keys and Ctrl-R', async () => {
    const { env, asked } = await chatServer((number) => `response ${number}.`);
    const cwd = temporaryDirectory();
    await runOnTerminal(['chat'], {
      env,
      cwd,
      typed: [
        [READY, 'a blue river\r'],
        ['response 1.', '\x1b[200~green\nriver\x1b[201~\r'],
        ['response 2.', 'red\r'],
        ['response 3.', CTRL_D],
      ],
    });
    const { code, screen } = await runOnTerminal(['chat'], {
      env,
      cwd,
      typed: [
        [READY, `${UP}\r`],
        ['response 4.', `${CTRL_R}rivex\x7fr`],
        ['(search: river) ', '\r'],
        ['response 5.', `river${CTRL_R}`],
        ['(search: river) ', `${CTRL_R}\x1b[C, please\r`],
        ['response 6.', `${CTRL_R}green\x07fresh\r`],
        ['response 7.', CTRL_D],
      ],
    });
    expect(code, screen).toBe(0);
    const prompts = asked.map((messages) => messages.at(-1)?.content);
    expect(prompts.slice(3)).toEqual(['red', 'green\nriver', 'a blue river, please', 'fresh']);
    expect(promptsIn(cwd)).toEqual(prompts);
    expect(statSync(join(cwd, 'data', 'prompts.jsonl')).mode & 0o777).toBe(0o600);
  });

  it('keeps no text with a credential, or with the value of a flag for one', async () => {
    const { env } = await chatServer((number) => `response ${number}.`);
    const cwd = temporaryDirectory();
    await runOnTerminal(['chat'], {
      env: { ...env, ACME_API_KEY: 'acme-secret-77' },
      cwd,
      typed: [
        [READY, `what is ${env.SVC_TOKEN}\r`],
        ['response 1.', 'run x --api-key sk-9876\r'],
        ['response 2.', 'is acme-secret-77 valid?\r'],
        ['response 3.', 'harmless\r'],
        ['response 4.', CTRL_D],
      ],
    });
    expect(promptsIn(cwd)).toEqual(['harmless']);
  });

  it.each([
    ['SVC_HISTORY=off', { SVC_HISTORY: 'off' }],
    ['a profile with history off', {}],
  ])('keeps nothing with %s', async (_, off) => {
    const { env } = await chatServer((number) => `response ${number}.`);
    const cwd = temporaryDirectory();
    const set = ['profile', 'set', 'default', '--base-url', env.SVC_BASE_URL, '--history', 'off'];
    if (!('SVC_HISTORY' in off)) await svc(set, { cwd });
    await runOnTerminal(['chat'], {
      env: { ...env, ...off },
      cwd,
      typed: [
        [READY, 'private\r'],
        ['response 1.', CTRL_D],
      ],
    });
    expect(existsSync(join(cwd, 'data', 'prompts.jsonl'))).toBe(false);
  });

  it('keeps the newest 1,000 texts, and chats on when the file is damaged', async () => {
    const { env } = await chatServer((number) => `response ${number}.`);
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'data'));
    const record = (at: number): string => `{"time":"2026-01-01T00:00:00.000Z","text":"text ${at}"}\n`;
    const file = join(cwd, 'data', 'prompts.jsonl');
    writeFileSync(file, Array.from({ length: 1005 }, (_, at) => record(at)).join(''));
    const typed = [[READY, CTRL_D] as const];
    await runOnTerminal(['chat'], { env, cwd, typed });
    expect(promptsIn(cwd)).toHaveLength(1000);
    expect(promptsIn(cwd)[0]).toBe('text 5');
    writeFileSync(file, `${record(1)}damaged\n${record(2)}`);
    const { code, screen } = await runOnTerminal(['chat'], { env, cwd, typed, columns: 500 });
    expect({ code, screen }).toEqual({
      code: 0,
      screen: expect.stringContaining('prompts are not kept: '),
    });
    expect(screen).toContain('prompts.jsonl:2 is not a valid record');
  });

  it('completes commands and file names with Tab, which is a tab in a prompt', async () => {
    const { env, asked } = await chatServer((number) => `response ${number}.`);
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'plans'));
    writeFileSync(join(cwd, 'plans', 'june.txt'), 'my plans');
    writeFileSync(join(cwd, 'plans', '\x1b[2Jjuly.txt'), 'not listed');
    const { code, screen } = await runOnTerminal(['chat'], {
      env,
      cwd,
      typed: [
        [READY, '/at\t'],
        ['/attach ', 'pl\tj\t\r'],
        ['plans/june.txt goes with the next prompt', 'a\tb\r'],
        ['response 1.', '/s\t\t'],
        ['/stats', CTRL_C],
        ['^C', CTRL_D],
      ],
    });
    expect(code).toBe(0);
    expect(JSON.stringify(asked)).toContain('my plans');
    expect(JSON.stringify(asked)).toContain('a\\tb');
    expect(screen).toMatch(/\/system +\/save +\/stats/);
  });
});

it.skipIf(!hasTerminal)('breaks responses of a session between words, except in code', async () => {
  const words = 'one two three four five six seven eight nine ten eleven twelve';
  const text = `${words}\n\`\`\`\n${words}\n\`\`\`\n${'x'.repeat(50)} end`;
  const { env } = await chatServer(() => text);
  const session = (columns: number, TERM: string) =>
    runOnTerminal(['chat'], {
      env: { ...env, TERM },
      columns,
      typed: [
        [TERM === 'dumb' ? '> ' : READY, 'Hi\r'],
        [' end', CTRL_D],
      ],
    });
  const shown = async (columns: number, term: string): Promise<string> => {
    const { screen } = await session(columns, term);
    // As the terminal draws it: the start of a word that did not fit is erased.
    return screen
      .slice(screen.indexOf('one '))
      .replace(/\S*\x1b\[\d+G\x1b\[K/g, '')
      .replaceAll('\r', '');
  };
  const code = `\n\`\`\`\n${words}\n\`\`\`\n${'x'.repeat(50)} end`;
  expect(await shown(30, 'xterm')).toContain(
    `one two three four five six \nseven eight nine ten eleven \ntwelve${code}`,
  );
  expect(await shown(200, 'xterm')).toContain(words + code);
  // A terminal without a size.
  expect(await shown(0, 'xterm')).toContain(words + code);
  expect(await shown(30, 'dumb')).toContain(words + code);
});

it('selects the model, attaches a file to one prompt and to its retry, and confirms each command', async () => {
  const { env, asked, otherFields } = await chatServer((number) => `response ${number}.`);
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'notes.txt'), 'my notes');
  const { code } = await runOnTerminal(['chat'], {
    env,
    cwd,
    typed: [
      [READY, '/model m-2\r'],
      ['the model is m-2', '/attach none.txt\r'],
      ['none.txt does not exist', '/attach notes.txt\r'],
      ['notes.txt goes with the next prompt', 'Summarize\r'],
      ['response 1.', '/retry\r'],
      ['sending the last prompt again', ''],
      ['response 2.', '/system Be brief\r'],
      ['the system message is set', '/clear\r'],
      ['started a new conversation', 'Hello\r'],
      ['response 3.', CTRL_D],
    ],
  });
  expect(code).toBe(0);
  expect(otherFields).toEqual(Array(3).fill({ model: 'm-2', stream: true }));
  // The same message as that of `svc chat Summarize --attach notes.txt`.
  expect(asked[0]).toMatchObject([
    { role: 'user', content: [{ text: 'Summarize' }, { text: expect.stringContaining('my notes') }] },
  ]);
  expect(asked[1]).toEqual(asked[0]);
  expect(asked[2]).toEqual([
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: 'Hello' },
  ]);
});

it('says why a command of the session does nothing', async () => {
  const { env, asked } = await chatServer(() => 'fine');
  const { screen } = await runOnTerminal(['chat'], {
    env,
    typed: [
      [READY, '/usr/bin\r'],
      ['to send the text as a prompt, begin it with a space', ' /usr/bin\r'],
      ['fine', '/exit now\r'],
      ['/exit takes no text', 'exit\r'],
      ['to end the chat, write /exit', '/save\r'],
      ['/save needs a file name', '/clear\r/retry\r'],
      ['there is no prompt to retry', CTRL_D],
    ],
  });
  expect(asked.map(([message]) => message?.content)).toEqual([' /usr/bin']);
  expect(screen).toMatch(/\/system \[TEXT\] {2}sets the system message, or shows it\r\n\/model \[NAME\] /);
});

it('shows the results and errors of commands of the session also with -q', async () => {
  const { env } = await chatServer(() => 'fine');
  const { screen } = await runOnTerminal(['chat', '-q'], {
    env,
    typed: [
      [READY, '/stats\r'],
      ['there is no response yet', '/help\r'],
      ['or Ctrl-D ends the session', '/nope\r'],
      ['/nope is not a command', '/bye\r'],
      ['/bye is not a command\r\n  write /exit; to send', ':q\r'],
      [':q is not a command\r\n  write /exit; to send', '.model x\r'],
      ['.model is not a command\r\n  write /model; to send', '.env is a file\r'],
      ['fine', CTRL_D],
    ],
  });
  expect(screen).not.toContain('/help lists the commands');
});

it('a chat without a prompt is interactive only at a terminal, without a body and with text as the result', async () => {
  // This terminal is closed from the start.
  expect(await svc(['chat', '--local'], { terminal: true })).toMatchObject({
    code: 129,
    stderr:
      'svc: model not set, the local service, profile local\nsvc: /help lists the commands; Ctrl-D ends the session\nsvc: the terminal was closed; nothing was sent\n',
  });
  for (const flags of ['--no-stdin', '--json', '--dry-run', '--extract code', '-o out.txt', '--junit out.xml'])
    expect((await svc(['chat', '--local', ...flags.split(' ')], { terminal: true })).code).toBe(2);
  expect((await svc(['chat', '--local'])).code).toBe(2);
});

it('an interactive chat without a token ends before a prompt is typed', async () => {
  const options = { terminal: true, env: { SVC_BASE_URL: 'https://api.example.com' } };
  expect(await svc(['chat'], options)).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/^svc: no token for https:\/\/api\.example\.com .*\n {2}run: .*SVC_TOKEN\n$/),
  });
});

it.each([
  '--expect-text x',
  '--expect-not x',
  '--expect-schema {}',
  '--expect-schema @-',
  '--expect-finish stop',
  '--expect-max-latency 2s',
  '--tools @-',
])('a chat without a prompt is not interactive with %s', async (flags) => {
  const stderr = expect.stringMatching(/^svc: no body was given\n/);
  expect(await svc(['chat', '--local', ...flags.split(' ')], { terminal: true })).toMatchObject({ code: 2, stderr });
});
