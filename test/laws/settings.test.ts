import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { allCommands } from '../../src/cli/all-commands.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const mcpLines = [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
  },
  {
    id: 2,
    method: 'tools/call',
    params: { name: 'chat', arguments: { model: 'm', messages: [{ role: 'user', content: 'hi' }] } },
  },
];
const spans =
  '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"x","startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000"}]}]}]}';
const files = {
  'in.jsonl': '{"model":"m","messages":[{"role":"user","content":"hi"}]}\n',
  'groups.json': '[{"trajectories":[{"messages":[{"role":"user","content":"x"}],"reward":1}]}]',
  'spans.json': spans,
};

interface Sending {
  readonly args: readonly string[];
  readonly stdin?: string;
  /** Its request has the token, not the user name and password. */
  readonly isBearer?: true;
}

// How each command that sends is run, so that it sends one request.
const sendings: { readonly [command: string]: Sending } = {
  'feedback replace': {
    args: [
      ...[
        'feedback',
        'replace',
        '--project-id',
        'a/b',
        '--feedback-type',
        'note',
        '--payload',
        '{}',
        '--feedback-id',
        'f',
      ],
      ...['--svc-ref', 'svc:///a/b/call/0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05', '--keep-id'],
    ],
  },
  'feedback schema': { args: ['feedback', 'schema', '--project-id', 'a/b', '--since', '1d'] },
  chat: { args: ['chat', '-m', 'm', 'hi'], isBearer: true },
  'chat --batch': { args: ['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--max-outage', '0'], isBearer: true },
  train: {
    args: ['train', 'groups.json', '--model-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05', '--allow-duplicate'],
    isBearer: true,
  },
  'call start': { args: ['call', 'start', '--project-id', 'a/b', '--op-name', 'x'] },
  'call run': { args: ['call', 'run', '--project-id', 'a/b', '--require', '--', 'true'] },
  'call import': { args: ['call', 'import', 'spans.json', '--project-id', 'a/b', '--max-outage', '0'] },
  'call flush': { args: ['call', 'flush'] },
  mcp: {
    args: ['mcp'],
    stdin: mcpLines.map((line) => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join(''),
    isBearer: true,
  },
  'auth login': {
    args: ['auth', 'login', '--username', 'ada', '--password-stdin', '--project-id', 'a/b'],
    stdin: 'pw\n',
  },
  'doctor --probe': { args: ['doctor', '--probe'] },
};

const credentials = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pw', SVC_TOKEN: 'token-1' };

interface Run extends Result {
  readonly requests: readonly IncomingMessage[];
}

/** Runs a command against a server that answers with a status, or never. */
async function sendWith(
  name: string,
  flags: readonly string[],
  setting: { env?: Record<string, string>; profile?: readonly string[]; status?: number } = {},
): Promise<Run> {
  const { args, stdin } = sendings[name] ?? { args: [] };
  const cwd = temporaryDirectory();
  for (const [file, text] of Object.entries(files)) writeFileSync(join(cwd, file), text);
  const requests: IncomingMessage[] = [];
  const server = createServer((incoming, response) => {
    requests.push(incoming);
    incoming.resume().on('end', () => {
      if (setting.status === 0) return;
      const headers = { 'content-type': 'application/json', 'retry-after': '0' };
      response.writeHead(setting.status ?? 400, headers).end('{"error":{"message":"no"}}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const env = { PATH: process.env.PATH, ...credentials, SVC_BASE_URL: `http://127.0.0.1:${port}`, ...setting.env };
  const profile = ['profile', 'set', 'default', '--base-url', env.SVC_BASE_URL, ...(setting.profile ?? [])];
  await svc(profile, { cwd, env });
  if (name === 'call flush')
    await svc(['call', 'run', '--project-id', 'a/b', '--spool=only', '--', 'true'], { cwd, env });
  // What follows -- is the command of call run.
  const at = args.indexOf('--');
  const line = at === -1 ? [...args, ...flags] : [...args.slice(0, at), ...flags, ...args.slice(at)];
  const result = await svc(line, { cwd, env, ...(stdin === undefined ? {} : { stdin }) });
  return { ...result, requests };
}

it('knows how to run every command that sends', () => {
  const takesHeaders = allCommands.filter(({ flags }) =>
    flags.some((flag) => flag.name === 'header' && !flag.isHidden),
  );
  const names = takesHeaders.map(({ name }) => name).filter((name) => name !== 'profile set' && name !== 'serve');
  const known = Object.keys(sendings).map((name) => name.replace(/ --.*/, ''));
  expect([...new Set(known)].sort(), 'add the command to the table of this file').toEqual(names.sort());
});

describe.each(Object.keys(sendings))('svc %s sends what is set', (name) => {
  it('in a header, by flag and profile', async () => {
    const { requests, stderr } = await sendWith(name, ['-H', 'X-Flag: f'], { profile: ['-H', 'X-Profile: p'] });
    expect(requests[0]?.headers, stderr).toMatchObject({ 'x-flag': 'f', 'x-profile': 'p' });
  });

  it.each([
    [['--retries', '2'], {}, 3],
    [[], { SVC_RETRIES: '1' }, 2],
    [[], { SVC_RETRIES: '0' }, 1],
  ])('as often as it says: %j %j', async (flags, env, count) => {
    const { requests, stderr } = await sendWith(name, flags, { env, status: 429 });
    expect(requests.length, stderr).toBe(count);
  });

  it('with its credentials', async () => {
    const { requests, stderr } = await sendWith(name, []);
    const expected =
      name === 'auth login' ? /^Basic YWRhOnB3$/ : sendings[name]?.isBearer ? /^Bearer token-1$/ : /^Basic YXBpOnB3$/;
    expect(requests[0]?.headers.authorization, stderr).toMatch(expected);
  });
});

// At the same time, because a request needs seconds to be sent on a busy machine.
it.each([
  [['--timeout', '3s'], {}],
  [[], { SVC_TIMEOUT: '3s' }],
])('every command that sends ends within its time limit: %j %j', async (flags, env) => {
  const ends = Object.keys(sendings).map(async (name) => {
    const { requests, stderr, stdout } = await sendWith(name, flags, { env: { ...env, SVC_RETRIES: '0' }, status: 0 });
    return [name, requests.length, /3 s/.test(stderr + stdout)];
  });
  expect(await Promise.all(ends)).toEqual(Object.keys(sendings).map((name) => [name, 1, true]));
});
