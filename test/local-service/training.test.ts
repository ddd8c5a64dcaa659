import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createBodyValidator } from '../../src/fields/schema-validator.ts';
import { collectBody } from '../../src/http/body-chunks.ts';
import type { RequestBody } from '../../src/http/message.ts';
import { rootOf } from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { openLocalService } from '../../src/local-service/open-local-service.ts';
import { invalidBodyResponse } from '../../src/local-service/responses.ts';
import { openStore, type SqlRow } from '../../src/local-service/store/open-store.ts';
import { trainOperation } from '../../src/operations/train.ts';
import { temporaryDirectory } from '../support/svc.ts';

const model = '"model_id":"0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05"';
const job = (groups: string): string => `{${model},"trajectory_groups":${groups}}`;

function inPieces(text: string, size: number): RequestBody {
  const bytes = Buffer.from(text);
  return {
    length: undefined,
    chunks: async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    },
  };
}

/** A service on its own database, its response to a job, and the stored rows. */
async function service() {
  const data = join(temporaryDirectory(), 'svc.db');
  const { send, close } = await openLocalService({ databaseFile: data }, { now: () => 7, randomBytes });
  onTestFinished(close);
  const post = async (body: RequestBody): Promise<{ status: number; json: { id?: string; detail?: unknown } }> => {
    const reply = await send({
      method: 'POST',
      url: `http://localhost${trainOperation.path}`,
      headers: [['Content-Type', 'application/json']],
      body,
    });
    return { status: reply.status, json: JSON.parse((await collectBody(reply.body, 1e8)).toString()) };
  };
  const stored = async (): Promise<{ jobs: SqlRow[]; rows: SqlRow[]; files: string[] }> => {
    const store = await openStore(data);
    const jobs = store.all('select * from jobs');
    const rows = store.all(
      `select *, cast(trajectory as text) as text from trajectories order by job_id, group_index, trajectory_index`,
    );
    store.close();
    return { jobs, rows, files: readdirSync(dirname(data)).filter((name) => !name.startsWith('svc.db')) };
  };
  return { post, stored };
}

describe('a job that arrives in pieces', () => {
  const text = `\ufeff{"experimental_config" : {"epsilon":0.10},"trajectory_groups": [ {"trajectories":[{"reward":1.0}, { "reward" : 9007199254740993,"logs":["é\\n"]}],"note":1},\n{"trajectories":[]},{}, {"trajectories":[{}]}] ,${model} }\n`;

  it.each([1, 2, 3, 64, 1 << 20])('of %i bytes is stored byte for byte', async (size) => {
    const { post, stored } = await service();
    const { status, json } = await post(inPieces(text, size));
    expect([status, json]).toEqual([200, { id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/) }]);
    const { jobs, rows, files } = await stored();
    expect(jobs).toMatchObject([
      { id: json.id, model_id: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05', experimental_config: '{"epsilon":0.10}' },
    ]);
    expect(
      rows.map(({ job_id, group_index, trajectory_index, text: row }) => [
        job_id === json.id,
        group_index,
        trajectory_index,
        row,
      ]),
    ).toEqual([
      [true, 0, 0, '{"reward":1.0}'],
      [true, 0, 1, '{ "reward" : 9007199254740993,"logs":["é\\n"]}'],
      [true, 3, 0, '{}'],
    ]);
    expect(files).toEqual([]);
  });

  it('may have many trajectories, and large ones', async () => {
    const { post, stored } = await service();
    const large = `{"logs":["${'x'.repeat(3_000_000)}"]}`;
    const many = Array.from({ length: 5000 }, (_, at) => `{"reward":${at}}`);
    expect((await post(inPieces(job(`[{"trajectories":[${large},${many}]}]`), 65_536))).status).toBe(200);
    const { rows } = await stored();
    expect(rows).toHaveLength(5001);
    expect([rows[0]?.text, rows[5000]?.text]).toEqual([large, '{"reward":4999}']);
  });
});

describe('an invalid job', () => {
  const bodies: readonly (readonly [string, string])[] = [
    ['no model', '{"trajectory_groups":[]}'],
    ['no groups', `{${model}}`],
    ['nothing', '{}'],
    ['groups that are none', job('[1,{"trajectories":2},null]')],
    ['a list that is none', job('{"trajectories":[]}')],
    ['null', job('null')],
    ['trajectories that are none', job('[{"trajectories":[1,"x",null,[],{}]}]')],
    ['wrong members', job('[{"trajectories":[{"reward":"1"},{"reward":1,"initial_policy_version":1.5}]}]')],
    ['wrong members of a tool', job('[{"trajectories":[{"tools":[{"type":1,"function":{"strict":"x"}}]}]}]')],
    ['a wrong configuration', `{${model},"trajectory_groups":[],"experimental_config":{"ppo":1,"epsilon":"x"}}`],
    ['a wrong model', '{"model_id":"m","trajectory_groups":[{"trajectories":[{"reward":[]}]}]}'],
    ['what is unknown only', `{${model},"trajectory_groups":[{"trajectories":[{"rewrd":1}],"x":1}],"y":1}`],
  ];

  it.each(bodies)('with %s is rejected like a whole one, with the same message', async (_, body) => {
    const findings = createBodyValidator(trainOperation)(rootOf(parseJson(body))).filter(
      ({ level }) => level === 'error',
    );
    const { post, stored } = await service();
    const { status, json } = await post(inPieces(body, 5));
    if (findings.length === 0) return expect(status).toBe(200);
    const { detail } = JSON.parse(
      (await collectBody(invalidBodyResponse(findings, trainOperation).body, 1e8)).toString(),
    );
    expect(status).toBe(422);
    expect(json).toEqual({ detail: expect.arrayContaining(detail) });
    expect(json.detail).toHaveLength(detail.length);
    expect(await stored()).toEqual({ jobs: [], rows: [], files: [] });
  });

  it('with the same mistake in many trajectories is rejected with one detail', async () => {
    const { post, stored } = await service();
    const body = job(`[{"trajectories":[${Array.from({ length: 250 }, () => '{"reward":"1"}')}]}]`);
    expect(await post(inPieces(body, 5))).toMatchObject({
      status: 422,
      json: { detail: [{ loc: expect.arrayContaining(['reward']), msg: expect.stringContaining('and 249 more') }] },
    });
    expect(await stored()).toEqual({ jobs: [], rows: [], files: [] });
  });

  it.each<[string, string, (string | number)[], RegExp]>([
    [
      'no JSON',
      job('[{"trajectories":[{"reward":}]}]'),
      ['body', 98],
      /^JSON decode error: expected a value, found "}"/,
    ],
    ['a text that ends', job('[{"trajectories":[{}').slice(0, -1), ['body', 89], /^JSON decode error: /],
    ['no object', '[]', ['body'], /^must be an object/],
    ['nothing in it', ' ', ['body', 1], /^JSON decode error: /],
    ['more than one value', `${job('[]')}x`, ['body', 77], /^JSON decode error: /],
  ])('with %s is rejected with the location', async (_, body, loc, message) => {
    const { post, stored } = await service();
    expect(await post(inPieces(body, 7))).toEqual({
      status: 422,
      json: {
        detail: [
          { loc: expect.arrayContaining(loc.slice(0, 1)), msg: expect.stringMatching(message), type: 'value_error' },
        ],
      },
    });
    expect(await stored()).toEqual({ jobs: [], rows: [], files: [] });
  });

  it('that is cut leaves nothing behind', async () => {
    const { post, stored } = await service();
    const body: RequestBody = {
      length: undefined,
      chunks: async function* () {
        yield Buffer.from(job('[{"trajectories":[{"reward":1},{"reward":2}]},').slice(0, -1));
        throw new Error('the client has gone');
      },
    };
    await expect(post(body)).rejects.toThrow('the client has gone');
    expect(await stored()).toEqual({ jobs: [], rows: [], files: [] });
  });
});
