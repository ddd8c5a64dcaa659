import { execFile, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openApiDocument } from '../../src/commands/spec/spec.ts';
import { writeJson } from '../../src/json/write-json.ts';
import { allOperations } from '../../src/operations/all-operations.ts';
import { freePort } from '../support/free-port.ts';
import { run } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const peers = new URL('../peers/node_modules/', import.meta.url).pathname;
const isInstalled = existsSync(join(peers, '@stoplight/prism-cli'));
if (!isInstalled) process.stdout.write('skipped: test/peers is not installed (npm ci --prefix test/peers)\n');

const execute = promisify(execFile);
const binary = (name: string): string => join(peers, '.bin', name);
const LIMIT_MS = 240_000;

describe.runIf(isInstalled)('the OpenAPI document', () => {
  const writeDocument = (): string => {
    const file = join(temporaryDirectory(), 'openapi.json');
    writeFileSync(file, writeJson(openApiDocument(allOperations)));
    return file;
  };

  it('does not mention the command line', async () => {
    const { stdout } = await run(['spec', '--openapi']);
    expect(stdout).not.toMatch(/\bsvc (?!ref)|--[a-z]|repeatable|stdin|@file|an age|default: generated[^ ]/);
  });

  it('passes redocly lint', { timeout: LIMIT_MS }, async () => {
    const { stderr } = await execute(binary('redocly'), ['lint', writeDocument()], { cwd: temporaryDirectory() });
    expect(stderr).not.toMatch(/\d+ (?:warning|error)/);
  });

  // The program requires an ES module, which Node before 20.19 cannot do.
  it.skipIf(!Reflect.get(process.features, 'require_module'))(
    'passes swagger-parser',
    { timeout: LIMIT_MS },
    async () => {
      const script = `import parser from '@apidevtools/swagger-parser'; await (parser.default ?? parser).validate(${JSON.stringify(writeDocument())});`;
      await execute(process.execPath, ['--input-type=module', '-e', script], { cwd: join(peers, '..') });
    },
  );

  it('becomes types that compile and accept a free-form payload', { timeout: LIMIT_MS }, async () => {
    const cwd = temporaryDirectory();
    await execute(binary('openapi-typescript'), [writeDocument(), '-o', join(cwd, 'api.ts')], { cwd });
    writeFileSync(
      join(cwd, 'use.ts'),
      `import type { components } from './api.ts';
export const body: components['schemas']['FeedbackReplaceBody'] = {
  feedback_id: 'f', feedback_type: 't', payload: { x: 1 }, project_id: 'a/b', svc_ref: 'svc:///a/b/object/n:v',
};
export const chat: components['schemas']['ChatBody'] = { messages: [{ role: 'user', content: 'x' }], seed: 1, reasoning_effort: null };
export const effort: components['schemas']['ChatBody']['reasoning_effort'] = 'low';
`,
    );
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions', '--module', 'nodenext'];
    await execute(binary('tsc'), [...flags, 'use.ts'], { cwd });
  });

  it.each([['static'], ['dynamic']])(
    'is served by prism to svc for all operations: %s',
    { timeout: LIMIT_MS },
    async (mode) => {
      const port = await freePort();
      const flags = [
        'mock',
        writeDocument(),
        '--port',
        String(port),
        ...(mode === 'dynamic' ? ['--dynamic', '--seed', 'svc'] : []),
      ];
      const child = spawn(binary('prism'), flags, { cwd: temporaryDirectory(), stdio: ['ignore', 'pipe', 'inherit'] });
      onTestFinished(() => void child.kill('SIGKILL'));
      await new Promise<void>((resolve) => {
        child.stdout.on('data', (text) => /listening/i.test(String(text)) && resolve());
      });
      const env = {
        SVC_BASE_URL: `http://127.0.0.1:${port}`,
        SVC_USERNAME: 'ada',
        SVC_PASSWORD: 'pass-word',
        SVC_TOKEN: 'tok-en',
      };
      for (const { command } of allOperations) {
        const body = await run(['spec', ...command, '--skeleton']);
        const { code, stderr } = await run([...command, '-f', '-', '--json'], { env, stdin: body.stdout });
        expect({ command, code, stderr: code === 0 ? '' : stderr }).toEqual({ command, code: 0, stderr: '' });
      }
    },
  );
});
