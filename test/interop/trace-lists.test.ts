import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { postgresTables } from '../../src/local-service/store/tables.ts';
import { filePostgres } from '../support/file-postgres.ts';
import { run, type Served, serve } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const { reason, server } = filePostgres('lists of traces in PostgreSQL');

const LIMIT_MS = 240_000;
const project = 'a/b';
const start = Date.UTC(2026, 0, 1);

const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0');
const traceId = (number: number): string => hex(number, 32);
const spanId = (number: number): string => hex(number, 16);

interface Span {
  readonly trace: number;
  readonly id: number;
  readonly parent?: number;
  readonly name: string;
  readonly atMs: number;
  readonly nanoseconds?: number;
  readonly error?: string;
}

const spans: readonly Span[] = [
  // The child is stored before its parent.
  { trace: 1, id: 12, parent: 11, name: 'query', atMs: 100, nanoseconds: 2.5e9, error: 'no rows' },
  { trace: 1, id: 11, name: 'checkout', atMs: 50, nanoseconds: 3e9 },
  { trace: 2, id: 21, name: 'health', atMs: 3000, nanoseconds: 1 },
  // Its parent was not stored.
  { trace: 3, id: 31, parent: 99, name: 'worker', atMs: 2000, nanoseconds: 500e6, error: '' },
  { trace: 3, id: 32, parent: 31, name: 'step', atMs: 2100, nanoseconds: 100e6, error: 'late' },
];

const spanJson = ({ trace, id, parent, name, atMs, nanoseconds = 0, error }: Span): object => {
  const startTimeUnixNano = BigInt(start + atMs) * 1_000_000n;
  return {
    ...{ traceId: traceId(trace), spanId: spanId(id), name },
    ...(parent === undefined ? {} : { parentSpanId: spanId(parent) }),
    startTimeUnixNano: String(startTimeUnixNano),
    endTimeUnixNano: String(startTimeUnixNano + BigInt(nanoseconds)),
    status: error === undefined ? {} : { code: 2, message: error },
  };
};

async function post({ url, env }: Served, path: string, body: string): Promise<void> {
  const basic = Buffer.from(`${env.SVC_USERNAME}:${env.SVC_PASSWORD}`).toString('base64');
  const headers = { 'Content-Type': 'application/json', Authorization: `Basic ${basic}` };
  const response = await fetch(`${url}${path}`, { method: 'POST', body, headers });
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
}

/** A call without a span, in bytes with their own spacing; its duration and failure come from feedback. */
const call = (trace: number, id: number, name: string, atMs: number, inputs: string): string =>
  `{ "start" : {"project_id":"${project}","id":"${spanId(id)}","trace_id":"${traceId(trace)}","op_name":"${name}","started_at":"${new Date(start + atMs).toISOString()}","attributes":{},"inputs" :  ${inputs} }}`;
const feedback = (id: number, type: string, payload: string): string =>
  `{"project_id":"${project}","feedback_id":"none","feedback_type":"${type}","svc_ref":"svc:///${project}/call/${spanId(id)}","payload":${payload}}`;

async function filled(data: string): Promise<Served> {
  const cwd = temporaryDirectory();
  const served = await serve(['--data', data], { cwd });
  const document = { resourceSpans: [{ scopeSpans: [{ spans: spans.map(spanJson) }] }] };
  writeFileSync(join(cwd, 'spans.json'), JSON.stringify(document));
  const args = ['call', 'import', 'spans.json', '--project-id', project, '--concurrency', '1', '-o', 'out.jsonl'];
  const { code, stderr } = await run(args, { cwd, env: served.env });
  expect(code, stderr).toBe(0);
  // Feedback may come before its call.
  await post(served, '/feedback/replace', feedback(41, 'exit', '{"exit_code":2,"duration_ms":9000}'));
  await post(
    served,
    '/call/start',
    call(4, 41, 'build', 1000, '{ "target"\n:\t"all  of it", "n":   9007199254740993 }'),
  );
  await post(served, '/call/start', call(5, 51, 'ask', 4000, '{"question":"Straße \\u00dcber \\"all\\""}'));
  await post(served, '/feedback/replace', feedback(51, 'quality', '{"score":0.25,"note":"too short"}'));
  await post(served, '/feedback/replace', feedback(12, 'quality', '{"score":0.9,"other":[3,4]}'));
  return served;
}

interface Row {
  readonly trace: string;
  readonly name: string;
  readonly durationMs: number | null;
  readonly failed: number;
  readonly calls: number;
  readonly feedback: readonly string[];
  readonly matches: readonly { readonly name: string }[];
}

async function get<T>(
  { url, env }: Served,
  path: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<T> {
  const Authorization = `Basic ${Buffer.from(`${env.SVC_USERNAME}:${env.SVC_PASSWORD}`).toString('base64')}`;
  const response = await fetch(`${url}/page/${path}?${new URLSearchParams(parameters)}`, {
    headers: { Authorization },
  });
  if (!response.ok) return (await response.json()) as T;
  const text = await response.text();
  return JSON.parse(path === 'export' ? `[${text.trim().replaceAll('\n', ',')}]` : text) as T;
}

const stores = [
  ['an embedded database', () => join(temporaryDirectory(), 'svc.db')],
  ['PostgreSQL', () => server()?.newDatabase() ?? ''],
] as const;

describe.each(stores)('the list of traces, on %s', { timeout: LIMIT_MS }, (name, newData) => {
  const test = it.skipIf(name === 'PostgreSQL' && Boolean(reason));
  const names = async (served: Served, parameters: Readonly<Record<string, string>>): Promise<string[]> =>
    (await get<{ rows: Row[] }>(served, 'calls', parameters)).rows.map((row) => row.name);

  test('has a row for each root, with the end and failures of its spans, sorted and filtered', async () => {
    const served = await filled(newData());
    const { rows, totals } = await get<{ rows: Row[]; totals: object }>(served, 'calls');
    const facts = rows.map(({ name: root, durationMs, failed, calls }) => [root, durationMs, failed, calls]);
    expect(facts).toEqual([
      ['ask', null, 0, 1],
      ['health', 0.000_001, 0, 1],
      ['worker', 500, 2, 2],
      ['build', 9000, 1, 1],
      ['checkout', 3000, 1, 2],
    ]);
    expect(totals).toMatchObject({ traces: '5', calls: '7', feedback: '3' });
    expect(rows.at(-1)?.feedback).toEqual(['quality score=0.9']);
    const table: readonly [parameters: Readonly<Record<string, string>>, expected: readonly string[]][] = [
      [{ sort: 'start', order: 'ascending' }, ['checkout', 'build', 'worker', 'health', 'ask']],
      [{ sort: 'duration' }, ['build', 'checkout', 'worker', 'health', 'ask']],
      [{ sort: 'duration', order: 'ascending' }, ['ask', 'health', 'worker', 'checkout', 'build']],
      [{ sort: 'failures' }, ['worker', 'build', 'checkout', 'ask', 'health']],
      [{ sort: 'duration', failed: 'yes' }, ['build', 'checkout', 'worker']],
      [{ failed: 'no' }, ['ask', 'health']],
      [{ duration: '>2s' }, ['build', 'checkout']],
      [{ duration: '>= 3 s' }, ['build', 'checkout']],
      [{ duration: '<=500ms' }, ['health', 'worker']],
      [{ duration: '>1ms <0.1min' }, ['worker', 'checkout']],
      [{ duration: '2s', failed: 'yes', sort: 'duration', order: 'ascending' }, ['checkout', 'build']],
      [{ type: 'quality' }, ['ask', 'checkout']],
      [{ type: 'quality', value: '<0.5' }, ['ask']],
      [{ type: 'quality', value: '>=0.9' }, ['checkout']],
      [{ value: '3' }, ['checkout']],
      [{ value: '0.25' }, ['ask']],
      [{ type: 'quality', value: 'too short' }, ['ask']],
      [{ type: 'exit' }, ['build']],
      [{ op: 'query' }, ['checkout']],
      [{ project: 'c/d' }, []],
      [{ from: String(start + 1000), until: String(start + 3000) }, ['worker', 'build']],
    ];
    for (const [parameters, expected] of table)
      expect([parameters, await names(served, parameters)]).toEqual([parameters, expected]);
    for (const [parameters, message] of [
      [{ duration: 'long' }, 'duration "long" must be'],
      [{ duration: '>2' }, 'duration ">2" must be'],
      [{ value: 'score<0.5' }, 'value "score<0.5" must be'],
      [{ failed: 'maybe' }, 'failed must be'],
      [{ sort: 'size' }, 'sort must be'],
    ] as const)
      expect(await get(served, 'calls', parameters)).toEqual({ detail: expect.stringContaining(message) });
  });

  test('finds a value as it is shown, also through feedback, one row per trace with its matching calls', async () => {
    const served = await filled(newData());
    const table: readonly [q: string, expected: readonly (readonly [root: string, matches: string])[]][] = [
      ['"target": "all  of it"', [['build', 'build']]],
      ['target: ALL OF IT', [['build', 'build']]],
      ['9007199254740993', [['build', 'build']]],
      ['"question": "straße über \\"all\\""', [['ask', 'ask']]],
      ['über "all"', [['ask', 'ask']]],
      ['no rows', [['checkout', 'query']]],
      ['score=0.9', [['checkout', 'query']]],
      ['"score": 0.9', [['checkout', 'query']]],
      ['quality score=0.25', [['ask', 'ask']]],
      ['too short', [['ask', 'ask']]],
      [traceId(3), [['worker', 'worker,step']]],
      ['100%', []],
    ];
    for (const [q, expected] of table) {
      const { rows } = await get<{ rows: Row[] }>(served, 'calls', { q });
      const found = rows.map((row) => [row.name, row.matches.map((match) => match.name).join()]);
      expect([q, found]).toEqual([q, expected]);
    }
    const { calls } = await get<{ calls: object[] }>(served, 'trace', { id: traceId(1), q: 'no rows' });
    expect(calls).toMatchObject([
      { name: 'query', isMatch: true, durationMs: 2500, failed: true },
      { name: 'checkout', isMatch: false, durationMs: 3000, failed: false },
    ]);
    const exported = await get<{ id: string }[]>(served, 'export', { table: 'calls', q: 'no rows' });
    expect(exported.map(({ id }) => id)).toEqual([spanId(12)]);
    expect(await get(served, 'export', { table: 'calls', failed: 'yes' })).toHaveLength(5);
  });

  test('follows what changes: a later root, feedback that is replaced, a call that is sent again', async () => {
    const served = await serve(['--data', newData()]);
    const facts = async () =>
      (await get<{ rows: Row[] }>(served, 'calls')).rows.map((row) => [
        row.name,
        row.durationMs,
        row.failed,
        row.calls,
      ]);
    const child = call(1, 2, 'child', 10, '{}').replace('"op_name"', `"parent_id":"${spanId(1)}","op_name"`);
    await post(served, '/call/start', child);
    expect(await facts()).toEqual([['child', null, 0, 1]]);
    await post(served, '/call/start', call(1, 1, 'root', 20, '{}'));
    expect(await facts()).toEqual([['root', null, 0, 2]]);
    const end = feedback(1, 'exit', '{"exit_code":1,"duration_ms":5}').replace(
      '{"project_id"',
      '{"id":"f","project_id"',
    );
    await post(served, '/feedback/replace', end);
    expect(await facts()).toEqual([['root', 15, 1, 2]]);
    await post(served, '/feedback/replace', end.replace('"exit_code":1', '"exit_code":0'));
    expect(await facts()).toEqual([['root', 15, 0, 2]]);
    await post(served, '/call/start', call(2, 2, 'moved', 30, '{}'));
    expect(await facts()).toEqual([
      ['moved', null, 0, 1],
      ['root', 5, 0, 1],
    ]);
  });

  test('pages through all traces in each order, with a bounded number of queries', async () => {
    const served = await serve(['--data', newData()]);
    const bodies = Array.from({ length: 120 }, (_, at) => call(at, at + 1, `op-${at}`, at % 7, '{}'));
    await Promise.all(bodies.map((body) => post(served, '/call/start', body)));
    for (const sort of ['start', 'duration', 'failures'])
      for (const order of ['', 'ascending']) {
        const seen: string[] = [];
        let before: string | null = '';
        while (before !== null) {
          const page: { rows: Row[]; next: string | null } = await get(served, 'calls', { sort, order, before });
          seen.push(...page.rows.map((row) => row.name));
          before = page.next;
        }
        expect([sort, order, seen.length, new Set(seen).size]).toEqual([sort, order, 120, 120]);
      }
  });
});

it.skipIf(Boolean(reason))('lists the traces that svc 0.2 stored in PostgreSQL', { timeout: LIMIT_MS }, async () => {
  const url = server()?.newDatabase() ?? '';
  const { earlier } = postgresTables;
  const statements = [
    'create schema svc',
    'create table svc.schema_version (version integer not null)',
    'insert into svc.schema_version values (4)',
    ...earlier,
    `insert into svc.calls (project_id, id, trace_id, start, created_at)
      values ('a/b', 'c', 'd', '{"op_name":"x","otel_dump":${JSON.stringify(spanJson({ trace: 1, id: 1, name: 'x', atMs: 5, nanoseconds: 2e9, error: '' }))}}', ${start})`,
  ];
  server()?.query(url, statements.join(';\n'));
  const { rows } = await get<{ rows: Row[] }>(await serve(['--data', url]), 'calls');
  expect(rows).toMatchObject([{ name: 'x', durationMs: 2000, failed: 1, calls: 1 }]);
});
