import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recording } from '../support/service.ts';
import { type Setting, svc, temporaryDirectory } from '../support/svc.ts';

const model = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05';
const id = '0199aaaa-5f3a-7c21-9b6e-2f1d7a4c8e05';
const messages = '"messages_and_choices":[{"role":"user","content":"q"}]';
const group = `{"trajectories":[{"reward":1,${messages}},{"reward":0,${messages}}]}`;
const train = ['train', 'g.jsonl', '--model-id', model];

/** A home with a file of groups, a service with these responses, and the program run there. */
function home(answer: { readonly status?: number; readonly body?: string; readonly error?: Error } = {}) {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'g.jsonl'), `${group}\n`);
  const history = join(cwd, 'data', 'training-jobs.jsonl');
  const { send, recorded } = recording(async () => {
    if (answer.error) throw answer.error;
    return {
      status: answer.status ?? 200,
      statusText: '',
      headers: [['Content-Type', 'application/json']],
      body: (async function* () {
        yield Buffer.from(answer.body ?? `{"id":"${id}"}`);
      })(),
    };
  });
  const env = { SVC_BASE_URL: 'https://svc.test', SVC_TOKEN: 'tok-en-1', SVC_RETRIES: '0' };
  const run = (args: readonly string[], setting: Setting = {}) => svc(args, { cwd, env, send, ...setting });
  const jobs = async () => JSON.parse((await run(['train', 'log'])).stdout);
  return { cwd, history, run, jobs, recorded, env };
}

describe('a job that is shown after it was sent', () => {
  it.each(['--dry-run', '--curl'])('%s says that svc would refuse it, and sends nothing', async (preview) => {
    const { run, recorded, env } = home();
    const first = await run([...train, preview, '--experimental-config', '{"learning_rate":2.50e-5}']);
    expect(first.stderr).not.toContain('the same job');
    expect(first.stderr).toMatch(
      /^svc: the job has 1 group, 2 trajectories, \d+ B, experimental_config \{"learning_rate":2.50e-5\}$/m,
    );
    await run(train);
    const { code, stderr } = await run([...train, preview]);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /svc would not send this request: the same job was sent at \S+ and was applied; .*--allow-dup/,
      ),
    ]);
    expect((await run([...train, preview, '--allow-duplicate'])).stderr).not.toContain('the same job');
    const elsewhere = { env: { ...env, SVC_BASE_URL: 'https://other.test' } };
    expect((await run([...train, preview], elsewhere)).stderr).not.toContain('the same job');
    expect(recorded).toHaveLength(1);
  });
});

it.each([
  ['--dry-run', 'svc ... --dry-run | jq'],
  ['--curl', 'remove --jq'],
])('%s with --jq names the next step', async (preview, step) => {
  const { code, stderr } = await home().run([...train, preview, '--jq', '.x']);
  expect([code, stderr]).toEqual([2, expect.stringContaining(step)]);
});

describe('the same job in the lines of a batch', () => {
  const line = `{"model_id":"${model}","trajectory_groups":[${group}]}`;
  const batch = ['train', '--batch', 'in.jsonl', '--concurrency', '1', '--ordered'];

  it('is sent once, and is in the job history with the others', async () => {
    const { cwd, run, jobs, recorded } = home();
    writeFileSync(join(cwd, 'in.jsonl'), `${line}\n${line}\n`);
    const { code, stdout } = await run(batch);
    expect(code).toBe(10);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text)),
    ).toMatchObject([
      { line: 1, exit_code: 0, applied: 'yes' },
      { line: 2, exit_code: 13, applied: 'no' },
    ]);
    expect(recorded).toHaveLength(1);
    expect(await jobs()).toMatchObject([
      { outcome: 'applied', id, files: ['in.jsonl'], groups: 1, trajectories: 2, bytes: line.length },
    ]);
    expect((await run(train)).code).toBe(13);
    expect((await run([...batch, '--allow-duplicate'])).code).toBe(0);
    expect(recorded).toHaveLength(3);
  });

  it('is not sent with --group-by, which is for files', async () => {
    const { run, recorded } = home();
    const { code, stderr } = await run([...batch, '--group-by', 'metadata.task']);
    expect(code).toBe(2);
    expect(stderr).toContain('--group-by cannot be combined with --batch');
    expect(recorded).toHaveLength(0);
  });

  it('may be sent again when it was refused', async () => {
    const { cwd, run, jobs, recorded } = home({ status: 422 });
    writeFileSync(join(cwd, 'in.jsonl'), `${line}\n`);
    expect((await run(batch)).code).toBe(10);
    expect((await run(batch)).code).toBe(10);
    expect(recorded).toHaveLength(2);
    expect(await jobs()).toMatchObject([{ outcome: 'not-applied' }, { outcome: 'not-applied' }]);
  });
});

describe('the same job again', () => {
  it.each<[string, Parameters<typeof home>[0], number, string, number]>([
    ['was applied', {}, 0, 'applied', 13],
    ['was applied, but the answer is broken', { body: '{}' }, 11, 'applied', 13],
    ['was refused', { status: 422 }, 5, 'not-applied', 5],
    ['had wrong credentials', { status: 401 }, 4, 'not-applied', 4],
    ['came too often', { status: 429 }, 9, 'not-applied', 9],
    ['met a failure', { status: 500 }, 6, 'unknown', 13],
    ['met a gateway', { status: 502 }, 8, 'unknown', 13],
    ['got no answer', { error: new Error('lost') }, 8, 'unknown', 13],
  ])('that %s', async (_, answer, code, outcome, again) => {
    const { run, jobs, recorded } = home(answer);
    expect((await run(train)).code).toBe(code);
    expect(await jobs()).toMatchObject([{ outcome, exit_code: code, id: answer?.body || code > 0 ? null : id }]);
    const second = await run(train);
    expect(second.code, second.stderr).toBe(again);
    expect(recorded).toHaveLength(again === 13 ? 1 : 2);
    expect(await jobs()).toHaveLength(again === 13 ? 1 : 2);
    expect((await run([...train, '--allow-duplicate'])).code).toBe(code);
  });

  it('is reported with its time, its outcome and the next step', async () => {
    const { run, jobs } = home();
    await run(train);
    const [{ started_at: when }] = await jobs();
    const { stdout, stderr } = await run(train);
    expect(stdout).toBe('');
    expect(stderr).toBe(
      `svc: the same job was sent at ${when} and was applied; nothing was sent\n  job: ${id}\n  svc train log lists it; to send it again, run svc train with --allow-duplicate\n`,
    );
    const { error } = JSON.parse((await run([...train, '--error-format', 'json'])).stderr);
    expect(error).toMatchObject({
      code: 'safety_check',
      cause: 'duplicate_job',
      exit_code: 13,
      applied: 'no',
      ids: { job: id },
    });
  });

  it.each<[string, readonly string[], Setting]>([
    ['as an argument of another name', ['train', 'h.jsonl', '--model-id', model], {}],
    ['from stdin', ['train', '-', '--model-id', model], { stdin: group }],
    ['on the command line', ['train', '--trajectory-groups', `[${group}]`, '--model-id', model], {}],
    ['as a whole body', ['train', '-f', '-'], { stdin: `{"model_id":"${model}","trajectory_groups":[${group}]}` }],
  ])('is the same %s', async (_, args, setting) => {
    const { cwd, run, recorded } = home();
    writeFileSync(join(cwd, 'h.jsonl'), group);
    await run(args, setting);
    const [body] = recorded.map((one) => one.body);
    expect((await run(args, setting)).code).toBe(13);
    // A request that was rejected before its end was sent has not arrived.
    expect(recorded.map((one) => one.body)).toEqual([body]);
  });

  it.each<[string, readonly string[], object]>([
    ['of another model', [...train.slice(0, 3), '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e06'], {}],
    ['to another service', train, { SVC_BASE_URL: 'https://other.test' }],
    ['to another path of it', train, { SVC_BASE_URL: 'https://svc.test/b' }],
    ['to the local service', [...train, '--local'], { SVC_BASE_URL: '' }],
    ['with another setting', [...train, '--set', 'experimental_config.ppo:=true'], {}],
  ])('%s is another one', async (_, args, more) => {
    const { run, env } = home();
    expect((await run(train)).code).toBe(0);
    expect((await run(args, { env: { ...env, ...more } })).code).toBe(0);
  });

  it('is no guard of the local service, whose jobs train nothing', async () => {
    const { run, env, jobs } = home();
    const local = { env: { ...env, SVC_BASE_URL: '' } };
    expect((await run([...train, '--local'], local)).code).toBe(0);
    const again = await run([...train, '--local'], local);
    expect(again.code, again.stderr).toBe(0);
    expect(await jobs()).toMatchObject([{ target: 'local' }, { target: 'local' }]);
  });
});

describe('the job history of svc train', () => {
  it('has the jobs that were sent', async () => {
    const { run, jobs, recorded, history } = home();
    expect((await run([...train, '--dry-run'])).code).toBe(0);
    expect(existsSync(history)).toBe(false);
    await run(train);
    const body = recorded[0]?.body ?? '';
    expect(await jobs()).toMatchObject([
      {
        digest: createHash('sha256').update(body).digest('hex'),
        target: 'https://svc.test/v1/preview/training-jobs',
        model_id: model,
        files: ['g.jsonl'],
        bytes: body.length,
        groups: 1,
        trajectories: 2,
      },
    ]);
    expect(readFileSync(history, 'utf8')).not.toContain('tok-en-1');
  });

  it('does not have a job that was not sent', async () => {
    const { run, jobs } = home();
    await run(['train', '-', '--model-id', model], { stdin: '{"trajectories":7}' });
    await run(train, { env: { SVC_BASE_URL: 'https://svc.test' } });
    expect(await jobs()).toEqual([]);
  });

  it('that cannot be written ends svc before anything is sent', async () => {
    const { run, recorded, history } = home();
    mkdirSync(history, { recursive: true });
    const { code, stderr } = await run(train);
    expect({ code, stderr }).toEqual({
      code: 12,
      stderr: expect.stringMatching(
        /^svc: cannot read .*training-jobs.jsonl: it is a directory\n {2}set SVC_DATA_DIR to/,
      ),
    });
    expect(recorded).toEqual([]);
  });

  it('that cannot be written afterwards causes only a warning', async () => {
    const { run, history, env } = home();
    const { send } = recording(async () => {
      rmSync(history);
      mkdirSync(history);
      return {
        status: 200,
        statusText: '',
        headers: [],
        body: (async function* () {
          yield Buffer.from(`{"id":"${id}"}`);
        })(),
      };
    });
    const { code, stdout, stderr } = await run(train, { send, env });
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `{"id":"${id}"}\n`,
      stderr: expect.stringMatching(/^svc: warning: could not record the outcome of the job, .*it is a directory/),
    });
  });
});
