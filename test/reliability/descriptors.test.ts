import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { done, event, streamHead } from '../support/event-stream.ts';
import { type Finished, inShell } from '../support/process.ts';
import { bodyOf, httpAnswer, type RawServer, rawServer } from '../support/raw-server.ts';
import { temporaryDirectory } from '../support/svc.ts';

const call = 'svc call start --project-id a/b --op-name x';
const reply = '{"id":"i","trace_id":"t","choices":[{"message":{"content":"hi"}}],"paths":[]}';
const streamed = `${streamHead}${event('{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}')}${done}`;

/** A command line of each kind, and whether it sends a request. */
const lines: readonly (readonly [line: string, sends: boolean])[] = [
  ['svc --version', false],
  ['svc spec chat', false],
  ['svc profile list', false],
  ['svc profile set p --base-url https://svc.test', false],
  ['svc chat --bad', false],
  ['svc chat hi --dry-run', false],
  ['svc chat hi --stream', true],
  ['svc chat hi --stream --format jsonl -v', true],
  [call, true],
  [`${call} -o out.json`, true],
  ['svc feedback schema --project-id a/b --since 1d', true],
];
const closed = ['<&-', '>&-', '2>&-', '<&- >&- 2>&-', '2>/dev/full'];

async function service(): Promise<{ server: RawServer; env: Record<string, string> }> {
  const server = await rawServer((socket, request) =>
    socket.end(request.includes('"stream":true') ? streamed : httpAnswer(reply)),
  );
  const env = {
    SVC_USERNAME: 'api',
    SVC_PASSWORD: 'pass-word-1',
    SVC_TOKEN: 'tok-en-1',
    SVC_RETRIES: '0',
    SVC_BASE_URL: server.url,
  };
  return { server, env };
}

function expectCalm({ code, stderr }: Finished, line: string): void {
  expect(code, `${line}\n${stderr}`).not.toBe(1);
  expect(stderr, line).not.toMatch(/^ {4}at |a bug in svc|node:internal/m);
}

describe('descriptors that are closed', () => {
  it.each(lines)('do not change what %s does', async (line, sends) => {
    const { server, env } = await service();
    const usual = await inShell(line, { env });
    expectCalm(usual, line);
    const bodies = server.received.splice(0).map((request) => bodyOf(request).length > 0);
    expect(bodies).toEqual(sends ? [true] : []);
    for (const how of closed) {
      const result = await inShell(`${line} ${how}`, { env });
      expectCalm(result, how);
      expect(result.code, `${how}\n${result.stderr}`).toBe(usual.code);
      expect(server.received.splice(0), how).toHaveLength(bodies.length);
    }
  });

  it('are not a body: the missing fields are listed', async () => {
    const result = await inShell('svc call start --local <&-');
    expect(result).toMatchObject({ code: 3, stderr: expect.stringContaining('start: is required') });
  });
});

describe('a disk that is full', () => {
  it.each(lines.filter(([, sends]) => sends))('is exit 12 after %s, and the request was applied', async (line) => {
    const { env } = await service();
    const plain = line.replace(' -o out.json', ' -o /dev/full').replace(' --error-format json', '');
    const { code, stderr } = await inShell(`${plain} --error-format json >/dev/full`, { env });
    expect(code, stderr).toBe(12);
    const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
    expect(error).toMatchObject({ code: 'local_file', applied: 'yes', exit_code: 12 });
  });

  it.each(['svc --version', 'svc spec chat', 'svc chat hi --dry-run', 'svc profile list', 'svc completion zsh'])(
    'is exit 12 after %s',
    async (line) => {
      const { env } = await service();
      expect(await inShell(`${line} >/dev/full`, { env })).toMatchObject({
        code: 12,
        stderr: expect.stringContaining('the disk is full'),
      });
    },
  );
});

describe('a reader that closes the pipe', () => {
  it.each(lines)('does not make %s fail', async (line) => {
    const { env } = await service();
    const usual = await inShell(line, { env });
    const { stdout, stderr } = await inShell(`{ ${line}; echo "$?" >code; } | head -c 1 >/dev/null; cat code`, { env });
    expect(Number(stdout), stderr).toBe(usual.code);
    const withoutIds = (text: string): string => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID');
    // What is reported after the result is left out if the reader is gone by then.
    expect(withoutIds(usual.stderr)).toContain(withoutIds(stderr));
  });
});

describe('few file descriptors', () => {
  it('are enough: 64', async () => {
    const { env } = await service();
    for (const line of [
      'svc chat hi --local',
      'svc chat hi --stream',
      call,
      'svc profile set p --base-url https://svc.test',
      'svc spec --openapi',
    ]) {
      const { code, stderr } = await inShell(`ulimit -n 64; ${line}`, { env: line.includes('--local') ? {} : env });
      expect(code, stderr).toBe(0);
    }
  });

  it('are reported in plain words, from the fewest with which Node starts to those that are enough', async () => {
    const started = async (count: number): Promise<boolean> =>
      (await inShell(`ulimit -n ${count}; svc profile list`)).code === 0;
    let count = 18;
    while (!(await started(count))) count += 1;
    for (let code: number | null = 12; code !== 0; count += 1) {
      const result = await inShell(`ulimit -n ${count}; svc chat hi --local`);
      expectCalm(result, String(count));
      code = result.code;
      if (code !== 0)
        expect(result, String(count)).toMatchObject({ code: 12, stderr: expect.stringMatching(/^svc: .*files/) });
    }
    expect(count).toBeLessThan(64);
  });
});

// Elsewhere a home would be that of whoever runs the tests.
const canBeNobody = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0;

describe.skipIf(!canBeNobody)(
  'a home directory (skipped where the tests are not run by root, or without setpriv)',
  () => {
    const some = ['svc chat hi --no-stdin', 'svc chat hi --dry-run', 'svc profile list', 'svc --help'];
    const storing = ['svc profile set p --base-url https://svc.test', 'svc chat hi --local --no-stdin'];

    it.each(['unset HOME', 'export HOME=', 'export HOME=.', 'export HOME=/'])(
      'that is missing or of another user (%s) affects only stored data',
      async (line) => {
        const { env } = await service();
        const cwd = temporaryDirectory();
        chmodSync(cwd, 0o777);
        for (const one of [...some, ...storing]) {
          const isStoring = storing.includes(one);
          const result = await inShell(`${line}; ${one.replace('svc', 'asNobody')}`, {
            cwd,
            env: { ...env, SVC_CONFIG_DIR: '', SVC_DATA_DIR: '', ...(isStoring ? { SVC_BASE_URL: '' } : {}) },
          });
          expectCalm(result, one);
          expect(result.code, `${one}\n${result.stderr}`).toBe(isStoring ? 12 : 0);
        }
        expect(readdirSync(cwd)).toEqual([]);
      },
    );
  },
);

const portLimit = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
const hasPrivilegedPorts = existsSync(portLimit) && Number(readFileSync(portLimit, 'utf8')) > 1;

it.skipIf(!canBeNobody || !hasPrivilegedPorts)('a port that only root can use is reported', async () => {
  const cwd = temporaryDirectory();
  chmodSync(cwd, 0o777);
  const { code, stderr } = await inShell('asNobody serve --port 1 --no-auth --data x.db', { cwd });
  expect(code).toBe(12);
  expect(stderr).toBe('svc: cannot listen on port 1: permission denied\n  use --port 0 for any free port\n');
});

describe('a working directory that was removed', () => {
  it('has no files; the rest works', async () => {
    const { env } = await service();
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'gone'));
    writeFileSync(join(cwd, 'body.json'), '{}');
    const gone = (line: string): Promise<Finished> =>
      inShell(`mkdir -p gone; cd gone; rmdir ../gone; ${line}`, { cwd, env });
    for (const [line, code] of [
      ['svc --version', 0],
      ['svc chat hi --no-stdin', 0],
      ['svc chat -f body.json', 12],
      ['svc chat hi -o out', 12],
    ] as const) {
      const result = await gone(line);
      expectCalm(result, line);
      expect(result.code, result.stderr).toBe(code);
    }
  });
});

// Since Node 24, WebAssembly reserves addresses only as it uses them.
const reservesAddresses = process.platform === 'linux' && Number(process.versions.node.split('.')[0]) < 24;

it.skipIf(!reservesAddresses)('too little virtual memory is reported', async () => {
  const { url } = await countingServer(String, (_, response) => answerJson(response, { paths: [] }));
  const call = `svc feedback schema --project-id a/b --since 1h --base-url ${url}`;
  const { code, stderr } = await inShell(`ulimit -v 4000000; ${call}`, {
    env: { SVC_USERNAME: 'u', SVC_PASSWORD: 'p' },
  });
  expect({ code, stderr }).toMatchObject({ code: 12, stderr: expect.stringContaining('not enough memory') });
});
