import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { run, serve, start, waitForExit } from '../../support/process.ts';
import { temporaryDirectory } from '../../support/svc.ts';

const COUNT = 200;

// As a new user would: send the table, continue after the machine died, and join the columns that are wanted.
it('a table of 200 prompts, killed and resumed, is joined with latency, tokens and cost', async () => {
  const cwd = temporaryDirectory();
  const rows = Array.from({ length: COUNT }, (_, at) => `${at};"What is ${at}, roughly?"\n`);
  writeFileSync(join(cwd, 'prompts.csv'), `id;question\n${rows.join('')}`);
  const service = await serve(['--no-auth', '--fault', 'ttft=300ms']);
  const setting = { cwd, env: { SVC_BASE_URL: service.url } };
  const send = ['chat', '--rows', 'prompts.csv', '{{question}}', '-o', 'out.jsonl'];
  const stored = (): number => {
    const path = join(cwd, 'out.jsonl');
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0;
  };

  const first = start(send, setting);
  for (let round = 0; round < 600 && stored() === 0; round += 1) await setTimeout(100);
  first.kill('SIGKILL');
  await waitForExit(first);
  expect(stored()).toBeGreaterThan(0);
  expect(stored()).toBeLessThan(COUNT);

  const resumed = await run([...send, '--resume', '--retry-unknown'], setting);
  expect(resumed.code, resumed.stderr).toBe(0);
  const columns = 'text,latency_ms,prompt_tokens,completion_tokens,cost,finish_reason,error';
  const merged = await run(
    ['batch', 'merge', 'out.jsonl', '--join', 'prompts.csv', '--columns', columns, '-o', 'joined.csv'],
    setting,
  );
  expect(merged.code, merged.stderr).toBe(0);
  expect(merged.stderr).toContain('.cost is empty in every row');
  const [header, ...lines] = readFileSync(join(cwd, 'joined.csv'), 'utf8').trimEnd().split('\n');
  expect(header).toBe(`id;question;${columns.replaceAll(',', ';')}`);
  expect(lines).toHaveLength(COUNT);
  for (const [at, line] of lines.entries())
    expect(line).toMatch(
      new RegExp(`^${at};"What is ${at}, roughly\\?";"You asked ""What is ${at}, .*;\\d+;\\d+;\\d+;;stop;$`),
    );
});
