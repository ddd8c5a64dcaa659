import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../support/process.ts';
import { folder } from '../support/svc.ts';

const libraries = ['zod', 'undici', 'conf', 'ora', 'chalk', 'libsql', 'read', 'eventsource-parser'];

// Which modules a run loaded, by the coverage Node itself writes.
async function loaded(args: readonly string[]): Promise<string[]> {
  const coverage = folder();
  const { code } = await run(args, { env: { NODE_V8_COVERAGE: coverage }, cwd: folder() });
  expect(code).toBe(0);
  const urls = readdirSync(coverage).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8'));
    return result.map(({ url }: { url: string }) => url);
  });
  return libraries.filter((library) => urls.some((url: string) => url.includes(`/node_modules/${library}/`)));
}

describe('heavy libraries are loaded only where they are used', () => {
  it.each<[string[], string[]]>([
    [['--version'], []],
    [['--help'], []],
    [['chat', '--help'], []],
    [['help', 'environment'], []],
    [['completion', 'bash'], []],
    [['spec', 'chat'], []],
    [['profile', 'list'], []],
    [['chat', 'x', '--dry-run'], ['zod']],
    [
      ['chat', 'x', '--local', '-q'],
      ['zod', 'libsql'],
    ],
  ])('svc %j loads %j', async (args, wanted) => {
    expect(await loaded(args)).toEqual(wanted);
  });
});
