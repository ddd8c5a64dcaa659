import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { runOnFiles } from '../support/real-files.ts';
import { temporaryDirectory } from '../support/svc.ts';

const id = '00f067aa0ba902b7';
const replace = ['feedback', 'replace'];
const call = ['--call-id', id];
const newRecord = expect.objectContaining({ svc_ref: `svc:///a/b/call/${id}`, project_id: 'a/b' });

describe('feedback from the shell', () => {
  it.for([
    ['a score', ['--feedback-type', 'quality', '--score', '0.90'], 'quality', '"payload":{"score":0.90}'],
    ['a note', ['--note', 'a "b"'], 'wandb.note.1', String.raw`"payload":{"note":"a \"b\""}`],
    ['a reaction', ['--emoji', '👍'], 'wandb.reaction.1', '"payload":{"emoji":"👍"}'],
  ] as const)('stores %s as a new record', async ([, flags, type, payload]) => {
    const { code, stderr, bodies } = await runOnFiles({}, [...replace, '--new', ...call, ...flags]);
    expect({ code, count: bodies.length }, stderr).toEqual({ code: 0, count: 1 });
    const body = JSON.parse(bodies[0] ?? '');
    expect(body).toEqual(newRecord);
    expect(body.feedback_type).toBe(type);
    expect(body.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(body.feedback_id).toBe(body.id);
    expect(bodies[0]).toContain(payload);
  });

  it('works with the variables of a call on the local service', async () => {
    const flags = ['--local', ...replace, '--new', ...call, '--feedback-type', 'quality', '--score', '0.9'];
    const { code, stdout } = await runBuilt(flags, { cwd: temporaryDirectory(), env: { SVC_PROJECT_ID: 'a/b' } });
    expect({ code, payload: JSON.parse(stdout).payload }).toEqual({ code: 0, payload: { score: 0.9 } });
  });

  it.for([
    [['--new', '--id', 'x'], '--new cannot be combined with --id'],
    [['--new', '--keep-id'], '--new cannot be combined with --keep-id'],
    [['--new', '--set', 'id=x'], '--new and --set id set the same field'],
    [[...call, '--svc-ref', 'x'], '--call-id cannot be combined with --svc-ref'],
    [['--call-id', 'svc:///a/b/call/x'], '--call-id takes an id'],
    [['--note', 'x', '--emoji', 'y'], '--note cannot be combined with --emoji'],
    [['--note', 'x', '--feedback-type', 'y'], '--note cannot be combined with --feedback-type'],
    [['--emoji', 'x', '--payload', '{}'], `write: --feedback-type wandb.reaction.1 --payload '{"emoji":"<text>"}'`],
    [['--note', 'x', '--payload', '{}'], `write: --feedback-type wandb.note.1 --payload '{"note":"<text>"}'`],
    [['--emoji', 'x', '--set', 'feedback_type=y'], '--emoji and --set feedback_type set the same field'],
    [['--score', '1', '--payload', '{}'], '--score cannot be combined with --payload'],
    [['--score', '1', '--set', 'payload:={}'], '--score and --set payload set the same field'],
  ] as const)('refuses %s', async ([flags, message]) => {
    const { code, stderr, bodies } = await runOnFiles({}, [...replace, ...flags]);
    expect({ code, bodies }).toEqual({ code: 2, bodies: [] });
    expect(stderr).toContain(message);
  });

  it('adds to a body from a file, and prints a new id when the response is lost', async () => {
    const body = '{"feedback_type":"q","payload":{"a":1},"svc_ref":"x","feedback_id":"x"}';
    const flags = [...replace, '-f', 'body.json', '--new', ...call, '--score', '1'];
    const { code, bodies } = await runOnFiles({ 'body.json': body }, flags);
    expect({ code, payload: JSON.parse(bodies[0] ?? '').payload }).toEqual({ code: 0, payload: { a: 1, score: 1 } });
    // A response that is lost.
    const server = createServer((socket) => socket.once('data', () => socket.destroy()));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const lost = ['--base-url', `http://127.0.0.1:${port}`, '--retries', '0', '--error-format', 'json'];
    const failed = await runOnFiles({ 'body.json': body }, [...flags, ...lost]);
    server.close();
    expect(JSON.parse(failed.stderr).error.ids.feedback).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  it.for([
    ['lines', 'in.jsonl', '{}\n{"svc_ref":"svc:///a/b/call/1"}\n', ['--batch', 'in.jsonl', ...call, '--score', '1']],
    ['rows', 'in.csv', 'c,s\n1,0.5\n2,7\n', ['--rows', 'in.csv', '--call-id', '{{c}}', '--score', '{{s}}']],
  ] as const)('gives each of some %s its own id, which a resumed run repeats', async ([, name, text, input]) => {
    const flags = [...replace, ...input, '--new', '--feedback-type', 'q', '--concurrency', '1', '-o', 'out.jsonl'];
    const first = await runOnFiles({ [name]: text }, flags);
    expect(first.code, first.stderr).toBe(0);
    const bodies = first.bodies.map((body) => JSON.parse(body));
    expect(new Set(bodies.map((body) => body.id)).size).toBe(2);
    expect(bodies.every((body) => body.id === body.feedback_id)).toBe(true);
    expect(bodies.map((body) => body.svc_ref.split('/').at(-1))).toEqual(
      name === 'in.csv' ? ['1', '2'] : [id, '1'].map(String),
    );
    if (name === 'in.csv') expect(bodies.map((body) => body.payload)).toEqual([{ score: 0.5 }, { score: 7 }]);
    // As if the machine had died before the results, and the same service were up again.
    writeFileSync(join(first.cwd, 'out.jsonl'), '');
    const resumed = await first.again([...flags, '--resume', '--retry-unknown']);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(first.bodies.slice(2).map((body) => JSON.parse(body).id)).toEqual(bodies.map((body) => body.id));
  });
});

it.for([
  [['chat', '--batch', 'in'], '', 'there are no lines in in that are not empty', 0],
  [['chat', '--batch', 'in'], ' \n\n', 'there are no lines in in that are not empty', 0],
  [['chat', '--batch', 'in', '-n'], '', 'there are no lines in in that are not empty', 0],
  [['chat', '--messages', '@in'], '[]', 'messages: is an empty array', 0],
  [['train', 'lint', 'in'], '', 'there are no trajectories in in', 0],
  [['batch', 'merge', 'in'], '', 'there are no results of a batch in in', 0],
] as const)('reports nothing found: %s of %j', async ([args, text, message, exitCode]) => {
  const { code, stderr, bodies } = await runOnFiles({ in: text }, args);
  expect(stderr).toContain(message);
  expect(code).toBe(exitCode);
  if (exitCode > 0) expect(bodies).toEqual([]);
});

it('sets the variables of a trace for the later steps of a job, the project too', async () => {
  const cwd = temporaryDirectory();
  const file = join(cwd, 'variables');
  writeFileSync(file, 'A=1\n');
  const env = { SVC_PROJECT_ID: 'a/b', GITHUB_ENV: file };
  const start = ['call', 'start', '--local', '--op-name', 'x'];
  const { code, stdout } = await runBuilt([...start, '--export=github'], { cwd, env });
  const { id: callId, trace_id: traceId } = JSON.parse(stdout);
  expect(code).toBe(0);
  expect(readFileSync(file, 'utf8')).toBe(
    `A=1\nTRACEPARENT=00-${traceId}-${callId}-01\nSVC_TRACE_ID=${traceId}\nSVC_CALL_ID=${callId}\nSVC_PROJECT_ID=a/b\n`,
  );
  const outside = await runBuilt([...start, '--export=github'], { cwd, env: { SVC_PROJECT_ID: 'a/b' } });
  expect(outside).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('needs GITHUB_ENV') });
  const { stdout: lines } = await runBuilt([...start, '--export'], { cwd, env: { SVC_PROJECT_ID: 'a/b' } });
  expect(lines).toContain("export SVC_PROJECT_ID='a/b'\n");
  expect(existsSync(join(cwd, 'GITHUB_ENV'))).toBe(false);
});

it.for([
  ['in.csv', 'q;n\n"a;b";1\n', 'q;n;text;x;y;z\n"a;b";1;ok;2;"[1;2]";1.50\n'],
  ['in.csv', '"q","n"\n"a","1"\n', '"q","n","text","x","y","z"\n"a","1","ok",2,"[1;2]",1.50\n'],
] as const)('joins columns as the table has them: %s %j', async ([name, text, expected]) => {
  const rows = await runOnFiles({ [name]: text }, ['chat', '--rows', name, '{{q}}', '-o', 'out.jsonl']);
  const columns = 'text, x=([.line,.line] | add),y="[1;2]",z=1.50';
  const join = ['batch', 'merge', 'out.jsonl', '--join', name, '--columns'];
  const joined = await runBuilt([...join, columns], { cwd: rows.cwd });
  expect(joined.stdout, joined.stderr).toBe(expected);
  const wrong = await runBuilt([...join, 'a=.line,.status'], { cwd: rows.cwd });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('parentheses around a filter') });
});
