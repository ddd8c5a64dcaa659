import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filePostgres } from '../support/file-postgres.ts';
import { serve } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const { reason, server } = filePostgres('the filters of the page in PostgreSQL');

// The page is JavaScript, of which the compiler knows no types.
const statePath = '../../src/local-service/page/state.js';
const { tables, fieldsOf }: PageState = await import(statePath);

interface PageState {
  readonly tables: object;
  readonly fieldsOf: (state: {
    readonly table: string;
    readonly parameters: object;
  }) => readonly { readonly name: string }[];
}

const stores = [
  ['an embedded database', () => join(temporaryDirectory(), 'svc.db')],
  ['PostgreSQL', () => server()?.newDatabase() ?? ''],
] as const;

const modelIds = ['0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e01', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e02'];
const later = '2100-01-01';

// For each filter of each table, a value that selects the first of two records, one that selects the second, or none.
const values: { readonly [table: string]: { readonly [filter: string]: readonly [first: string, second?: string] } } = {
  calls: {
    ...{ q: ['first-input', 'second-input'], project: ['a/first', 'a/second'], op: ['first-op', 'second-op'] },
    ...{ failed: ['yes', 'no'], duration: ['>2s', '<2s'], type: ['first-type', 'second-type'] },
    ...{ value: ['>0.5', '<0.5'], from: ['2026-02-01'], until: ['2026-02-01'] },
  },
  feedback: {
    ...{ q: ['first-note', 'second-note'], project: ['a/first', 'a/second'], type: ['first-type', 'second-type'] },
    ...{ value: ['>0.5', '<0.5'], trigger: ['svc:///a/first/object/t:1', 'svc:///a/first/object/none:1'] },
    ...{ user: ['local', 'nobody'], from: [later], until: [later] },
  },
  jobs: {
    ...{ q: ['first-job', 'second-job'], name: ['first-job', 'second-job'], model: ['first-model', 'second-model'] },
    ...{ job: ['first-id', 'second-id'], from: [later], until: [later] },
  },
  chats: {
    ...{ q: ['first question', 'second question'], model: ['first-model', 'second-model'], status: ['200', '400'] },
    ...{ from: [later], until: [later] },
  },
};

describe.each(stores)('each filter of the page, on %s', { timeout: 240_000 }, (name, newData) => {
  it.skipIf(name === 'PostgreSQL' && Boolean(reason))('selects the records that match it, and no others', async () => {
    const { url } = await serve(['--data', newData(), '--no-auth']);
    const post = async (path: string, body: object) => {
      const headers = { 'Content-Type': 'application/json' };
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as { readonly id: string };
    };
    const ids: string[] = [];
    for (const [at, which] of ['first', 'second'].entries()) {
      const [project_id, id, trace_id] = [
        `a/${which}`,
        String(at + 1).padStart(16, '0'),
        String(at + 1).padStart(32, '0'),
      ];
      const started_at = ['2026-03-01T00:00:00Z', '2026-01-01T00:00:00Z'][at];
      const inputs = { text: `${which}-input` };
      await post('/call/start', {
        start: { project_id, id, trace_id, op_name: `${which}-op`, started_at, attributes: {}, inputs },
      });
      await post('/feedback/replace', {
        ...{
          project_id,
          feedback_id: 'none',
          feedback_type: `${which}-type`,
          svc_ref: `svc:///${project_id}/call/${id}`,
        },
        payload: {
          score: at === 0 ? 0.9 : 0.1,
          note: `${which}-note`,
          exit_code: at === 0 ? 0.7 : 0,
          duration_ms: at === 0 ? 3000 : 1000,
        },
        ...(at === 0 ? { trigger_ref: 'svc:///a/first/object/t:1' } : {}),
      });
      const trajectories = [{ reward: 1, messages_and_choices: [] }];
      const experimental_config = { name: `${which}-job` };
      const job = { model_id: modelIds[at], trajectory_groups: [{ trajectories }], experimental_config };
      ids.push((await post('/v1/preview/training-jobs', job)).id);
      await post('/v1/chat/completions', {
        ...{ model: `${which}-model`, messages: [{ role: 'user', content: `${which} question` }] },
        ...(at === 0 ? {} : { temperature: -1 }),
      });
    }
    const words = new Map([
      ['first-id', ids[0] ?? ''],
      ['second-id', ids[1] ?? ''],
    ]);
    const textOf = (table: string, filter: string, text: string): string => {
      if (filter === 'from' || filter === 'until') return String(Date.parse(text));
      if (table === 'jobs' && filter === 'model') return modelIds[text === 'first-model' ? 0 : 1] ?? '';
      return words.get(text) ?? text;
    };
    const rowsOf = async (table: string, parameters: Record<string, string>): Promise<readonly string[]> => {
      const response = await fetch(`${url}/page/${table}?${new URLSearchParams(parameters)}`);
      const { rows } = (await response.json()) as { readonly rows: readonly object[] };
      return rows.map((row) => (JSON.stringify(row).includes('second') ? 'second' : 'first'));
    };
    const statusOf = async (path: string): Promise<unknown[]> => {
      const [list, exported] = await Promise.all(
        [path, `export?table=${path.replace('?', '&')}`].map((each) => fetch(`${url}/page/${each}`)),
      );
      expect(exported?.status).toBe(list?.status);
      return [list?.status, await list?.text()];
    };
    expect(await statusOf('calls?from=yesterday')).toEqual([400, expect.stringContaining('milliseconds')]);
    for (const table of Object.keys(tables)) {
      const named = fieldsOf({ table, parameters: {} }).map((field) => field.name);
      expect([table, Object.keys(values[table] ?? {}).sort()]).toEqual([table, [...named].sort()]);
      expect([table, (await rowsOf(table, {})).toSorted()]).toEqual([table, ['first', 'second']]);
      for (const filter of named) {
        const [first = '', second] = values[table]?.[filter] ?? [];
        const selected = async (text: string) =>
          (await rowsOf(table, { [filter]: textOf(table, filter, text) })).toSorted();
        const found = [await selected(first), second === undefined ? [] : await selected(second)];
        const [all, none] = [['first', 'second'], []];
        const expected: { readonly [filter: string]: readonly (readonly string[])[] } = {
          from: [table === 'calls' ? ['first'] : none, none],
          until: [table === 'calls' ? ['second'] : all, none],
          trigger: [['first'], none],
          user: [all, none],
        };
        expect([table, filter, found]).toEqual([table, filter, expected[filter] ?? [['first'], ['second']]]);
        expect(await statusOf(`${table}?${filter}s=x`), filter).toEqual([400, expect.stringContaining(filter)]);
        // The export has the same selection.
        const query = new URLSearchParams({ table, [filter]: textOf(table, filter, first) });
        const lines = (await (await fetch(`${url}/page/export?${query}`)).text()).split('\n').filter(Boolean);
        expect([table, filter, lines.length]).toEqual([table, filter, found[0]?.length]);
      }
    }
  });
});
