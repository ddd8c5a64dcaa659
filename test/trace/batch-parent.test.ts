import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const TRACEPARENT = `00-${traceId}-${spanId}-00`;
const hex = /^[0-9a-f]{16}$/;
const uuid = /^[0-9a-f]{8}-/;

interface Call {
  readonly id: string;
  readonly trace_id?: string;
  readonly parent_id?: string;
}

/** Sends lines as calls, to a service that responds to the first request of each with the given status. */
async function batchOfCalls(lines: readonly object[], firstStatus = 200) {
  const cwd = temporaryDirectory();
  const calls: Call[] = [];
  const { url } = await countingServer(
    (body) => JSON.parse(body).start.op_name,
    ({ key, count, text }, response) => {
      calls.push(JSON.parse(text).start);
      answerJson(response, { id: calls.at(-1)?.id, trace_id: key }, count === 1 ? firstStatus : 200);
    },
  );
  writeFileSync(join(cwd, 'in.jsonl'), lines.map((start) => `${JSON.stringify({ start })}\n`).join(''));
  const run = (flags: readonly string[], env: Record<string, string> = { TRACEPARENT }): Promise<Result> =>
    svc(['call', 'start', '--batch', 'in.jsonl', '--project-id', 'a/b', '--concurrency', '1', ...flags], {
      cwd,
      env: { SVC_USERNAME: 'ada', SVC_PASSWORD: 'pass-word-1', SVC_BASE_URL: url, ...env },
    });
  return { calls, run };
}

describe('the calls of a batch', () => {
  const lines = [{ op_name: 'one' }, { op_name: 'two' }];

  it('are children of the call in the environment, each with an id of its own', async () => {
    const { calls, run } = await batchOfCalls(lines);
    await run([]);
    const child = { trace_id: traceId, parent_id: spanId, id: expect.stringMatching(hex) };
    expect(calls).toMatchObject([child, child]);
    expect(calls[0]?.id).not.toBe(calls[1]?.id);
  });

  it('keep a trace of their own', async () => {
    const { calls, run } = await batchOfCalls([
      { op_name: 'one', trace_id: 't' },
      { op_name: 'two', parent_id: 'p' },
    ]);
    await run([]);
    expect(calls).toMatchObject([
      { trace_id: 't', id: expect.stringMatching(uuid) },
      { parent_id: 'p', id: expect.stringMatching(uuid) },
    ]);
    expect(calls[0]).not.toHaveProperty('parent_id');
    expect(calls[1]).not.toHaveProperty('trace_id');
  });

  it.each([
    ['--no-parent', ['--no-parent'], { TRACEPARENT }],
    ['no parent', [], {}],
    ['an invalid parent', [], { TRACEPARENT: 'no' }],
  ])('are new traces with %s', async (_, flags, env) => {
    const { calls, run } = await batchOfCalls(lines);
    await run(flags, env as Record<string, string>);
    expect(calls.map(({ parent_id, id }) => [parent_id, uuid.test(id)])).toEqual([
      [undefined, true],
      [undefined, true],
    ]);
  });

  it('have the same ids when they are sent again, and no other parent unless that is accepted', async () => {
    const { calls, run } = await batchOfCalls(lines, 500);
    const resume = ['-o', 'out.jsonl', '--resume', '--retry-unknown'];
    expect((await run(['-o', 'out.jsonl', '--retries', '0'])).code).toBe(10);
    const other = { TRACEPARENT: `00-${traceId}-${'1'.repeat(16)}-01` };
    expect(await run(resume, other)).toMatchObject({ code: 13, stderr: expect.stringContaining('TRACEPARENT') });
    expect((await run(resume)).code).toBe(0);
    const ids = calls.map(({ id }) => id);
    expect(ids.slice(2)).toEqual(ids.slice(0, 2));
    expect(await run([...resume, '--accept-changes'], other)).toMatchObject({ code: 0 });
  });
});
