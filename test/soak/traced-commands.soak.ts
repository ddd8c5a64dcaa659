import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'libsql';
import { expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { figure } from '../support/figure.ts';
import { inShell, run, serve, start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const login = { SVC_USERNAME: 'ada', SVC_PASSWORD: 'pass-word-1' };

it('1,000 traced commands: the service has the rows of the records', async () => {
  const cwd = temporaryDirectory();
  const { env } = await serve([], { cwd });
  const { code } = await inShell(
    "export -f svc; seq 1000 | xargs -P 4 -I N bash -c 'svc call run --project-id a/b --op-name op-N --log-file log.jsonl -- true'",
    { cwd, env },
  );
  expect(code).toBe(0);
  const records = readFileSync(join(cwd, 'log.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(new Set(records.map(({ op_name }) => op_name)).size).toBe(1000);
  expect(records.filter(({ sent }) => !sent)).toEqual([]);
  const database = new Database(join(cwd, 'data/svc.db'), { readonly: true });
  const rows = database.prepare('select id, trace_id from calls').all() as { id: string; trace_id: string }[];
  database.close();
  const key = (call: { id: string; trace_id: string }): string => `${call.trace_id} ${call.id}`;
  expect(rows.map(key).sort()).toEqual(records.map(key).sort());
});

it('200 kills of records and flushes: no call is lost, and a call that is sent twice has the same ids', async () => {
  const cwd = temporaryDirectory();
  const bodies = new Map<string, Set<string>>();
  const server = await countingServer(
    (body) => JSON.parse(body).start.op_name,
    ({ text, key }, response) => {
      bodies.set(key, (bodies.get(key) ?? new Set()).add(text));
      const { id, trace_id } = JSON.parse(text).start;
      answerJson(response, { id, trace_id });
    },
  );
  const env = { ...login, SVC_BASE_URL: server.url };
  const recordArgs = (name: string, spool: string) => [
    'call',
    'run',
    '--project-id',
    'a/b',
    '--op-name',
    name,
    spool,
    '--',
    'true',
  ];
  // The moments are spread over the time that an undisturbed run takes.
  const durationOf = async (args: readonly string[]): Promise<number> => {
    const startedAt = performance.now();
    await run(args, { cwd, env });
    return performance.now() - startedAt;
  };
  const runAndKill = async (args: readonly string[], afterMs: number): Promise<boolean> => {
    const child = start(args, { cwd, env });
    const end = waitForExit(child);
    await Promise.race([delay(afterMs), end]);
    child.kill('SIGKILL');
    const { code, stderr } = await end;
    return code === 0 && stderr === '';
  };
  const recordMs = await durationOf(recordArgs('first', '--spool=only'));
  const flushMs = await durationOf(['call', 'flush']);
  const recorded = ['first'];
  for (let at = 0; at < 100; at += 1) {
    const name = `killed-${at}`;
    const isWhole = await runAndKill(
      recordArgs(name, at % 2 ? '--spool' : '--spool=only'),
      (recordMs * 1.2 * at) / 100,
    );
    if (isWhole) recorded.push(name);
    for (const part of ['a', 'b']) {
      const { code, stderr } = await run(recordArgs(`${name}-${part}`, '--spool=only'), { cwd, env });
      expect([code, stderr]).toEqual([0, '']);
      recorded.push(`${name}-${part}`);
    }
    await runAndKill(['call', 'flush'], (flushMs * 1.2 * ((at * 37) % 100)) / 100);
  }
  const files = readdirSync(join(cwd, 'data/spool'));
  const last = await run(['call', 'flush'], { cwd, env });
  expect(JSON.parse(last.stdout)).toMatchObject({ remaining: 0, other_base_urls: 0 });
  const twice = [...server.counts.values()].filter((count) => count > 1).length;
  figure(
    `spool: ${recorded.length} recorded, ${bodies.size} received, ${twice} sent twice, ${files.length} left by kills`,
  );
  expect(recorded.filter((name) => !bodies.has(name))).toEqual([]);
  expect([...bodies].filter(([, texts]) => texts.size > 1)).toEqual([]);
});
