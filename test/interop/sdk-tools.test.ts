import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serve, waitForExit } from '../support/process.ts';

const peers = new URL('../peers/', import.meta.url).pathname;
const isMissing = !existsSync(`${peers}node_modules`);
if (isMissing) process.stderr.write('skipped: the examples of SDKs: run npm ci --prefix test/peers\n');

const LIMIT_MS = 120_000;
const sdks = ['openai', 'ai', 'langchain', 'agents'] as const;
const smallest = { city: '' };

interface Service {
  readonly url: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

async function runExample(name: string, { url, env }: Service): Promise<{ calls: unknown; text: unknown }> {
  const child = spawn(process.execPath, [`${peers}tools.js`, name, url, env.SVC_TOKEN ?? ''], {
    env: { PATH: process.env.PATH ?? '', HOME: peers },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { code, stdout, stderr } = await waitForExit(child);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

describe.skipIf(isMissing)('the example with tools of', () => {
  it.each(['openai', 'openai-stream', 'ai', 'ai-stream', 'langchain', 'agents', 'openai-models'])(
    '%s runs against svc serve, also through --upstream',
    async (sdk) => {
      const direct = await serve();
      const front = await serve(['--upstream', direct.url], {
        env: { SVC_UPSTREAM_TOKEN: direct.env.SVC_TOKEN ?? '' },
      });
      for (const service of [direct, front]) {
        const { calls, text } = await runExample(sdk, service);
        expect(calls).toEqual([smallest]);
        expect(text).toMatch(/svc/);
      }
    },
    LIMIT_MS,
  );

  it.each(sdks)(
    '%s calls the tool with each tool_choice but none',
    async (sdk) => {
      const service = await serve();
      for (const choice of ['absent', 'auto', 'required', 'named'])
        expect((await runExample(`${sdk}-choice-${choice}`, service)).calls, choice).toEqual([smallest]);
      expect((await runExample(`${sdk}-choice-none`, service)).calls).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'agents hands over to another agent',
    async () => {
      expect((await runExample('agents-handoff', await serve())).text).toMatch(/^parcels: The tool said/);
    },
    LIMIT_MS,
  );
});

describe.skipIf(isMissing)('structured output of', () => {
  it.each([
    ['openai', ['openai-object', 'openai-strict-tool']],
    ['ai', ['ai-object-structured', 'ai-object-json', 'ai-object-stream']],
    ['langchain', ['langchain-object-jsonSchema', 'langchain-object-functionCalling', 'langchain-object-jsonMode']],
    ['agents', ['agents-object']],
    ['instructor', ['instructor-TOOLS', 'instructor-JSON', 'instructor-JSON_SCHEMA']],
  ])(
    '%s conforms to its schema',
    async (_, examples) => {
      const service = await serve();
      for (const example of examples)
        expect((await runExample(example, service)).text, example).toEqual({ city: '', days: 2 });
    },
    LIMIT_MS,
  );
});
