import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Failure, RequestOutcome } from '../../src/errors.ts';
import { createJobHistory, jobHistoryFile, jobStatus, type TrainingJob } from '../../src/train/job-history.ts';
import { after } from '../support/clock.ts';
import { temporaryDirectory } from '../support/svc.ts';

type World = Parameters<typeof createJobHistory>[1];

const world = (more: Partial<World> = {}): World => ({
  pid: 7,
  host: 'here',
  isRunning: (pid) => pid < 100,
  processScope: undefined,
  processStart: () => undefined,
  now: () => Date.UTC(2026, 0, 31),
  elapsed: () => performance.now(),
  uptime: () => performance.now(),
  after,
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  ...more,
});

const job: TrainingJob = {
  digest: 'ab'.repeat(32),
  target: 'https://svc.test/v1/preview/training-jobs',
  model: '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05',
  files: ['groups.jsonl'],
  bytes: 1234,
  groups: 2,
  trajectories: 8,
};
const applied: RequestOutcome = { applied: 'yes', exitCode: 0, id: '0199aaaa-5f3a-7c21-9b6e-2f1d7a4c8e05' };
const refused: RequestOutcome = { applied: 'no', exitCode: 5, id: undefined };
const lost: RequestOutcome = { applied: 'unknown', exitCode: 8, id: undefined };
const newHistory = (): string => jobHistoryFile(join(temporaryDirectory(), 'data'));

/** The message of the guard when a job is started after another one. */
async function second(
  outcome: RequestOutcome | undefined,
  next: TrainingJob,
  { allows = false, first = {}, then = {} }: { allows?: boolean; first?: Partial<World>; then?: Partial<World> },
): Promise<Failure | undefined> {
  const path = newHistory();
  const settle = await createJobHistory(path, world(first)).begin(job, false);
  if (outcome) await settle(outcome);
  return begin(next, path, allows, then);
}

async function begin(
  next: TrainingJob,
  path: string,
  allows = false,
  more: Partial<World> = {},
): Promise<Failure | undefined> {
  return createJobHistory(path, world(more))
    .begin(next, allows)
    .then(
      () => undefined,
      (failure: Failure) => failure,
    );
}

describe('the guard refuses the same job', () => {
  it.each<[string, RequestOutcome | undefined, Partial<World>, RegExp, string]>([
    [
      'when it was applied',
      applied,
      {},
      /^the same job was sent at 2026-01-31T00:00:00.000Z and was applied; nothing was sent$/,
      'svc train log lists it; to send it again, run svc train with --allow-duplicate',
    ],
    ['when its outcome is unknown', lost, {}, /by process 7 on here, and may have been applied/, ''],
    [
      'when it is in flight',
      undefined,
      {},
      /has been in flight since 2026-01-31T00:00:00.000Z, in process 7 on here/,
      '',
    ],
    ['when its process is gone', undefined, { pid: 700 }, /by process 700 on here, and may have been applied/, ''],
    ['when another machine sends it', undefined, { host: 'there' }, /by process 7 on there, and may have been/, ''],
  ])('%s', async (_, outcome, first, message, hint) => {
    const failure = await second(outcome, job, { first });
    expect(failure).toMatchObject({ code: 'safety_check', exitCode: 13, message: expect.stringMatching(message) });
    expect(failure?.facts).toMatchObject({
      applied: 'no',
      hint: expect.stringContaining(hint),
      ids: outcome?.id ? { job: outcome.id } : {},
    });
    expect(failure?.facts.hint).toContain('--allow-duplicate');
    expect(await second(outcome, job, { first, allows: true })).toBe(undefined);
  });

  it('also when a later one was refused', async () => {
    const path = newHistory();
    await (await createJobHistory(path, world()).begin(job, false))(applied);
    await (await createJobHistory(path, world()).begin(job, true))(refused);
    expect(await begin(job, path)).toMatchObject({ code: 'safety_check' });
  });
});

describe('the guard allows', () => {
  it.each<[string, RequestOutcome | undefined, Partial<TrainingJob>]>([
    ['one that was refused before', refused, {}],
    ['another body', applied, { digest: 'cd'.repeat(32) }],
    ['another service', lost, { target: 'local' }],
    ['another model', undefined, { model: undefined }],
  ])('%s', async (_, outcome, other) => {
    expect(await second(outcome, { ...job, ...other }, {})).toBe(undefined);
  });

  it('one of many processes that ask at the same moment', async () => {
    const path = newHistory();
    const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => begin(job, path, false, { pid: at + 1 })));
    expect(answers.filter((failure) => !failure)).toHaveLength(1);
    expect(answers.filter((failure) => failure?.code === 'safety_check')).toHaveLength(39);
    expect(existsSync(`${path}.lock`)).toBe(false);
  });
});

describe('the job history', () => {
  it('knows what other processes added, also after it was moved away', async () => {
    const path = newHistory();
    const [one, two] = [createJobHistory(path, world()), createJobHistory(path, world())];
    const other = { ...job, digest: 'cd'.repeat(32) };
    await (await one.begin(job, false))(applied);
    await expect(two.begin(job, false)).rejects.toMatchObject({ code: 'safety_check' });
    await two.begin(other, false);
    await expect(one.begin(other, false)).rejects.toMatchObject({ code: 'safety_check' });
    expect(await one.read()).toHaveLength(2);
    renameSync(path, `${path}.away`);
    expect(await one.read()).toEqual([]);
    await one.begin(job, false);
    expect(await two.read()).toHaveLength(1);
  });

  it('refuses the second of two equal jobs that one process starts at the same moment, and records the rest', async () => {
    const path = newHistory();
    const history = createJobHistory(path, world());
    const jobs = Array.from({ length: 30 }, (_, at) => ({ ...job, digest: `${at % 20}`.padStart(64, '0') }));
    const started = await Promise.allSettled(jobs.map((one) => history.begin(one, false)));
    expect(started.map(({ status }) => status)).toEqual(jobs.map((_, at) => (at < 20 ? 'fulfilled' : 'rejected')));
    await Promise.all(started.map((one) => one.status === 'fulfilled' && one.value(applied)));
    expect((await history.read()).map((record) => jobStatus(record, world()))).toEqual(Array(20).fill('applied'));
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(40);
  });

  it('finds the job of a line of a batch, not that of another line or run', async () => {
    const history = createJobHistory(newHistory(), world());
    const lineOf = (run: string, line: number): TrainingJob => ({ ...job, run, line });
    await (await history.begin(lineOf('a', 1), true))(applied);
    await history.begin(lineOf('a', 2), true);
    const statusOf = async (one: TrainingJob): Promise<string | undefined> => {
      const found = await history.find(one);
      return found && jobStatus(found, world());
    };
    expect(await statusOf(lineOf('a', 1))).toBe('applied');
    expect(await statusOf(lineOf('a', 2))).toBe('in-flight');
    for (const one of [lineOf('a', 3), lineOf('b', 1), job]) expect(await statusOf(one)).toBeUndefined();
  });

  it('has the jobs that were sent, readable by the owner only', async () => {
    const path = newHistory();
    await (await createJobHistory(path, world({ randomBytes: (count) => new Uint8Array(count) })).begin(job, false))(
      applied,
    );
    expect([statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777]).toEqual([0o600, 0o700]);
    const [start, end, ...rest] = readFileSync(path, 'utf8').split('\n');
    expect(JSON.parse(start ?? '')).toEqual({
      entry: '0000000000000000',
      started_at: '2026-01-31T00:00:00.000Z',
      digest: job.digest,
      target: job.target,
      files: ['groups.jsonl'],
      bytes: 1234,
      groups: 2,
      trajectories: 8,
      model_id: job.model,
      pid: 7,
      host: 'here',
    });
    expect(JSON.parse(end ?? '')).toEqual({
      entry: '0000000000000000',
      ended_at: '2026-01-31T00:00:00.000Z',
      applied: 'yes',
      exit_code: 0,
      id: applied.id,
    });
    expect(rest).toEqual(['']);
  });

  const line = '{"entry":"1","started_at":"x","digest":"d"}';

  it.each([
    ['a torn start', `${line}\n{"entry":"2","start`, 1],
    ['a torn end', `${line}\n{"entry":"1","ended_at":"x","appl`, 1],
    ['nothing but a torn line', '{"ent', 0],
    ['zeros of a power failure', `${line}\n\0\0\0\0`, 1],
    ['a last line that only lacks its line feed', `${line}\n${line.replace('1', '2')}`, 1],
  ])('with %s is read and fixed', async (_, text, whole) => {
    const path = newHistory();
    mkdirSync(dirname(path));
    writeFileSync(path, text);
    expect(await createJobHistory(path, world()).read()).toHaveLength(whole);
    expect(readFileSync(path, 'utf8')).toBe(text);
    await createJobHistory(path, world()).begin(job, false);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(lines.map((one) => JSON.parse(one).entry)).toHaveLength(whole + 1);
  });

  it.each([
    ['no JSON', '{"a"\n'],
    ['something else', '{"a":1}\n'],
    ['no object', '7\n'],
    ['an end of nothing', '{"entry":"9","ended_at":"x","applied":"yes"}\n'],
  ])('with %s in it is rejected, and left unchanged', async (_, text) => {
    const path = newHistory();
    mkdirSync(dirname(path));
    writeFileSync(path, `${line}\n${text}${line}\n`);
    expect(await begin(job, path)).toMatchObject({
      exitCode: 13,
      message: expect.stringContaining(`${path}:2 is not a valid record: `),
    });
    expect(readFileSync(path, 'utf8')).toBe(`${line}\n${text}${line}\n`);
  });

  it('accepts fields and values of a later svc', async () => {
    const path = newHistory();
    await createJobHistory(path, world({ pid: 700 })).begin(job, false);
    const { entry } = JSON.parse(readFileSync(path, 'utf8'));
    appendFileSync(path, `{"entry":"${entry}","ended_at":"x","applied":"perhaps","note":[1]}\n`);
    const [only] = await createJobHistory(path, world()).read();
    expect(only && jobStatus(only, world())).toBe('unknown');
  });

  it('that cannot be written is an error, and nothing is sent', async () => {
    const home = temporaryDirectory();
    writeFileSync(join(home, 'file'), '');
    expect(await begin(job, jobHistoryFile(join(home, 'file')))).toMatchObject({
      code: 'local_file',
      message: expect.stringMatching(/^cannot write .*training-jobs.jsonl: /),
      facts: { applied: 'no', hint: 'set SVC_DATA_DIR to another directory' },
    });
    const path = newHistory();
    mkdirSync(path, { recursive: true });
    expect(await begin(job, path)).toMatchObject({
      code: 'local_file',
      message: expect.stringContaining('it is a directory'),
    });
    expect(existsSync(`${path}.lock`)).toBe(false);
  });
});
