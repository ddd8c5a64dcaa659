import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { cleanEnv, program, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const peers = new URL('../peers/', import.meta.url).pathname;
const hasPeers = existsSync(`${peers}node_modules/@modelcontextprotocol/sdk`);
if (!hasPeers)
  process.stderr.write('skipped: the official MCP clients; install them with: npm ci --prefix test/peers\n');

const load = createRequire(`${peers}package.json`);
const server = (cwd: string) => ({
  command: process.execPath,
  args: [program, 'mcp', '--local', '--allow', 'call_start'],
  env: cleanEnv(cwd),
  cwd,
});
const callArguments = { start: { project_id: 'acme/support-bot', op_name: 'agent', inputs: { question: 'Where?' } } };

interface AnyClient {
  readonly connect: (transport: unknown) => Promise<void>;
  readonly listTools: () => Promise<{ tools: readonly { name: string }[] }>;
  readonly callTool: (call: unknown) => Promise<{ structuredContent?: Record<string, unknown>; isError?: boolean }>;
  readonly close: () => Promise<void>;
}

async function useTools(client: AnyClient, transport: unknown): Promise<void> {
  await client.connect(transport);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['feedback_schema', 'chat', 'call_start']);
  const call = await client.callTool({ name: 'call_start', arguments: callArguments });
  expect(call.structuredContent).toMatchObject({ id: expect.any(String), trace_id: expect.any(String) });
  const chat = await client.callTool({ name: 'chat', arguments: { messages: [{ role: 'user', content: 'hi' }] } });
  expect(chat.structuredContent).toMatchObject({ object: 'chat.completion' });
  // A stream has no usage; clients check each result against the schema of its tool.
  const streamed = { messages: [{ role: 'user', content: 'hi' }], stream: true };
  expect((await client.callTool({ name: 'chat', arguments: streamed })).structuredContent).toMatchObject({
    choices: [{ finish_reason: 'stop' }],
  });
  const wrong = await client.callTool({ name: 'chat', arguments: {} });
  expect(wrong.isError).toBe(true);
  await client.close();
}

describe.skipIf(!hasPeers)('the official clients of the Model Context Protocol', { timeout: 120_000 }, () => {
  const identity = { name: 'test', version: '1.0.0' };

  it('use the tools after a handshake', async () => {
    const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
    await useTools(new Client(identity), new StdioClientTransport(server(temporaryDirectory())));
  });

  it.each([['auto'], [{ pin: '2026-07-28' }]])('use the tools without a handshake (%j)', async (mode) => {
    const { Client } = await import(load.resolve('@modelcontextprotocol/client'));
    const { StdioClientTransport } = await import(load.resolve('@modelcontextprotocol/client/stdio'));
    const client = new Client(identity, { versionNegotiation: { mode } });
    await useTools(client, new StdioClientTransport(server(temporaryDirectory())));
  });

  it('include the inspector', async () => {
    const cwd = temporaryDirectory();
    const inspector = load
      .resolve('@modelcontextprotocol/inspector/package.json')
      .replace('package.json', 'cli/build/cli.js');
    const { command, args } = server(cwd);
    const child = spawn(process.execPath, [inspector, '--cli', command, ...args, '--method', 'tools/list'], {
      cwd,
      env: cleanEnv(cwd),
    });
    child.stdin.end();
    const { code, stdout } = await waitForExit(child);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).tools).toHaveLength(3);
  });
});
