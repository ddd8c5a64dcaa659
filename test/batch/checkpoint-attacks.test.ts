import { hash } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const credentials = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1', SVC_PROJECT_ID: 'a/b' };
const chat = (content: string) => JSON.stringify({ messages: [{ role: 'user', content }] });

interface Batch {
  readonly cwd: string;
  readonly counts: ReadonlyMap<string, number>;
  readonly write: (prompts: readonly string[]) => void;
  readonly run: (args?: readonly string[], command?: readonly string[], stdin?: string) => Promise<Result>;
  /** The prompt in the response of each line. */
  readonly results: () => Map<number, string | undefined>;
}

/** A batch of prompts, of which those in `rejected` get a 400, and those that begin with `lost` a 500. */
async function batch(prompts: readonly string[], rejected: ReadonlySet<string> = new Set()): Promise<Batch> {
  const cwd = temporaryDirectory();
  const { url, counts } = await countingServer(
    (body) => JSON.parse(body).messages.at(-1).content,
    ({ key }, response) => {
      if (rejected.has(key)) return answerJson(response, { detail: 'no' }, 400);
      if (key.startsWith('lost')) return answerJson(response, {}, 500);
      answerJson(response, { model: 'm', choices: [{ index: 0, message: { content: key }, finish_reason: 'stop' }] });
    },
  );
  const write = (lines: readonly string[]): void =>
    writeFileSync(join(cwd, 'in.jsonl'), lines.map((line) => `${line === '' ? '' : chat(line)}\n`).join(''));
  write(prompts);
  return {
    cwd,
    counts,
    write,
    run: (args = ['--resume'], command = ['chat'], stdin) =>
      svc([...command, '--batch', stdin === undefined ? 'in.jsonl' : '-', '-o', 'out.jsonl', ...args], {
        cwd,
        env: { ...credentials, SVC_BASE_URL: url },
        ...(stdin === undefined ? {} : { stdin }),
      }),
    results: () =>
      new Map(
        readFileSync(join(cwd, 'out.jsonl'), 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
          .map(({ line, response }) => [line, response?.choices?.[0]?.message?.content]),
      ),
  };
}

const twelve = Array.from({ length: 12 }, (_, at) => `p${at + 1}`);
const once = (counts: ReadonlyMap<string, number>): string[] =>
  [...counts].flatMap(([key, count]) => (count === 1 ? [] : [key]));

describe('a checkpoint whose input changed', () => {
  it.each<[string, (lines: string[]) => string[], string]>([
    ['a line was deleted', (lines) => lines.filter((_, at) => at !== 4), 'changed lines: 5-11; removed lines: 12'],
    ['a line was edited', (lines) => lines.map((line, at) => (at === 2 ? 'other' : line)), 'changed lines: 3'],
    ['lines were swapped', ([first = '', second = '', ...more]) => [second, first, ...more], 'changed lines: 1-2'],
    ['every line was replaced', (lines) => lines.map((line) => `x${line}`), 'changed lines: 1-12'],
    ['a line was emptied', (lines) => lines.map((line, at) => (at === 6 ? '' : line)), 'removed lines: 7'],
  ])('because %s stops before anything is sent', async (_, change, message) => {
    const { run, write, counts, cwd } = await batch(twelve, new Set(['p5']));
    expect((await run([])).code).toBe(10);
    const output = readFileSync(join(cwd, 'out.jsonl'));
    write(change(twelve));
    const { code, stderr } = await run();
    expect({ code, stderr }).toMatchObject({ code: 13, stderr: expect.stringContaining(message) });
    expect(stderr).toContain('--accept-changes');
    expect(counts.size).toBe(12);
    expect(once(counts)).toEqual([]);
    expect(readFileSync(join(cwd, 'out.jsonl'))).toEqual(output);
    expect(readdirSync(cwd).filter((name) => name.endsWith('.lock'))).toEqual([]);
  });

  it('is compared before credentials are read, also with an input from stdin', async () => {
    const { run, cwd, counts } = await batch(twelve);
    expect((await run([])).code).toBe(0);
    const reordered = [...twelve].reverse().map(chat).join('\n');
    const { code, stderr } = await run(['--resume'], ['chat'], reordered);
    expect({ code, stderr }).toMatchObject({ code: 13, stderr: expect.stringContaining('stdin is not the input') });
    const without = await svc(['chat', '--batch', 'in.jsonl', '-o', 'out.jsonl', '--resume', '-m', 'x'], {
      cwd,
      env: { SVC_BASE_URL: 'http://127.0.0.1:9' },
    });
    expect(without.code).toBe(13);
    const appended = [...twelve, 'p13'].map(chat).join('\n');
    expect(await run(['--resume'], ['chat'], appended)).toMatchObject({ code: 0 });
    expect(counts.size).toBe(13);
    expect(once(counts)).toEqual([]);
  });

  it('sends changed lines with --accept-changes, and leaves no result on a wrong line', async () => {
    const { run, write, counts, results } = await batch(twelve, new Set(['p5']));
    await run([]);
    const changed = twelve.filter((line) => line !== 'p5');
    write(changed);
    const { code, stderr } = await run(['--resume', '--accept-changes']);
    expect(code, stderr).toBe(0);
    const removed = '--accept-changes removes 1 result from out.jsonl: line 12 is no longer in in.jsonl';
    expect(stderr).toContain(`svc: warning: ${removed}\n`);
    expect([...results()]).toEqual(changed.map((prompt, at) => [at + 1, prompt]));
    expect(once(counts).sort()).toEqual(['p10', 'p11', 'p12', 'p6', 'p7', 'p8', 'p9']);
    expect((await run()).code).toBe(0);
    expect(counts.get('p12')).toBe(2);
    write(changed.slice(0, 8));
    expect((await run(['--resume', '--accept-changes'])).stderr).toContain(
      'svc: warning: --accept-changes removes 3 results from out.jsonl: lines 9-11 are no longer in in.jsonl\n',
    );
    expect(results().size).toBe(8);
  });

  it.each([
    ['an invalid line', ['{"messages":', chat('lost2'), chat('p3')]],
    ['a shorter file', [chat('p1'), chat('lost2')]],
    ['an empty line', [chat('p1'), chat('lost2'), '']],
  ])('needs --accept-changes once for %s, also while another line is unknown', async (_, lines) => {
    const { run, cwd, counts } = await batch(['p1', 'lost2', 'p3'], new Set(['p1']));
    await run([]);
    for (const content of [[chat('lost1'), chat('lost2'), chat('p3')], lines]) {
      writeFileSync(join(cwd, 'in.jsonl'), content.map((line) => `${line}\n`).join(''));
      expect((await run()).code).toBe(13);
      expect((await run(['--resume', '--accept-changes'])).code).toBe(10);
      expect((await run()).code).toBe(10);
    }
    expect(counts.get('lost2')).toBe(1);
  });

  it('accepts appended lines', async () => {
    const { run, write, counts, results } = await batch(twelve);
    await run([]);
    write([...twelve, 'p13', 'p14']);
    expect(await run()).toMatchObject({ code: 0 });
    expect(counts.size).toBe(14);
    expect(once(counts)).toEqual([]);
    expect(results().get(14)).toBe('p14');
  });

  it.each([
    ['nothing', [], []],
    ['empty lines', ['', ''], []],
    ['too few lines for its shard', ['p1', 'p2'], ['--shard', '3/3']],
  ])('accepts lines appended to %s', async (_, prompts, flags) => {
    const { run, write, counts, results, cwd } = await batch(prompts);
    for (const args of [flags, ['--resume', ...flags]]) expect(await run(args)).toMatchObject({ code: 0 });
    write(prompts.includes('') ? [...prompts, 'p3'] : ['p1', 'p2', 'p3']);
    expect(await run(['--resume', ...flags])).toMatchObject({ code: 0 });
    expect([...counts.values()]).toEqual(Array.from(results(), () => 1));
    expect(results().get(3)).toBe('p3');
    expect(readdirSync(cwd).sort()).toEqual(['in.jsonl', 'out.jsonl', 'out.jsonl.journal']);
    writeFileSync(join(cwd, 'out.jsonl'), '');
    expect(await run(['--resume', ...flags])).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('may have been applied'),
    });
    expect([...counts.values()].every((count) => count === 1)).toBe(true);
  });

  it('accepts lines appended after all were removed', async () => {
    const { run, write, counts, results } = await batch(['p1']);
    await run([]);
    write([]);
    for (const flags of [['--accept-changes'], []])
      expect(await run(['--resume', ...flags])).toMatchObject({ code: 0 });
    write(['p2']);
    expect(await run()).toMatchObject({ code: 0 });
    expect([...counts]).toEqual([
      ['p1', 1],
      ['p2', 1],
    ]);
    expect([...results()]).toEqual([[1, 'p2']]);
  });
});

describe('a checkpoint of another batch', () => {
  it.each<[string, string[], string[], string]>([
    [
      'operation',
      ['chat'],
      ['feedback', 'schema'],
      'it holds results of /v1/chat/completions, not /feedback/payload_schema',
    ],
    ['shard', ['chat', '--shard', '1/8'], ['chat', '--shard', '1/4'], 'it holds results of shard 1/8, not 1/4'],
    ['model', ['chat', '-m', 'a'], ['chat', '-m', 'b'], 'it was started with other values for model'],
    [
      'base URL',
      ['chat'],
      ['chat', '--base-url', 'http://localhost:9'],
      'from a base URL other than http://localhost:9',
    ],
  ])('by its %s is refused, also when it is complete', async (_, first, second, message) => {
    const { run, counts } = await batch(twelve);
    expect((await run([], first)).code).toBe(0);
    const sent = counts.size;
    const { code, stderr } = await run(['--resume'], second);
    expect({ code, stderr }).toMatchObject({ code: 13, stderr: expect.stringContaining(message) });
    expect(counts.size).toBe(sent);
  });

  it('does not reveal the values of flags', async () => {
    const { run, cwd } = await batch(twelve, new Set(['p3']));
    await run(['--cache-salt', 'random', '--fail-fast', '--concurrency', '1', '--model', 'secret-model']);
    expect(readFileSync(join(cwd, 'out.jsonl.journal'), 'utf8')).not.toContain('secret-model');
  });
});

describe('a value that differs from run to run', () => {
  /** A batch of requests for schemas, of which the second one fails once. */
  const schemas = async () => {
    const cwd = temporaryDirectory();
    const { url, counts } = await countingServer(
      (body) => JSON.parse(body).project_id,
      ({ key, count }, response) => answerJson(response, { paths: [] }, key === 'a/2' && count === 1 ? 400 : 200),
    );
    writeFileSync(join(cwd, 'in.jsonl'), '{"project_id":"a/1"}\n{"project_id":"a/2"}\n');
    const run = (...args: string[]): Promise<Result> =>
      svc(['feedback', 'schema', '--batch', 'in.jsonl', '-o', 'out.jsonl', ...args], {
        cwd,
        env: { ...credentials, SVC_BASE_URL: url },
      });
    return { run, counts };
  };

  it.each([
    [
      ['--since', '7d'],
      ['--since', '8d'],
    ],
    [
      ['--start', '7d'],
      ['--start', '7d', '--end', '1d'],
    ],
    [
      ['--start', '7d', '--end', '1d'],
      ['--start', '7d', '--end', '1h'],
    ],
    [
      ['--since', '7d'],
      ['--start', '2026-01-01T00:00:00Z'],
    ],
  ])('is compared as typed: %j, not %j', async (flags, otherFlags) => {
    const { run, counts } = await schemas();
    expect(await run(...flags)).toMatchObject({ code: 10 });
    const refused = await run('--resume', ...otherFlags);
    expect(refused).toMatchObject({ code: 13, stderr: expect.stringContaining('belongs to another batch') });
    for (const _ of ['stopped', 'complete']) expect(await run('--resume', ...flags)).toMatchObject({ code: 0 });
    expect(await run('--resume', ...otherFlags)).toMatchObject({ code: 13 });
    expect([...counts]).toEqual([
      ['a/1', 1],
      ['a/2', 2],
    ]);
  });

  it('may be a random secret, but not another given secret', async () => {
    const rejected = new Set(['p3']);
    const { run, cwd, counts } = await batch(twelve, rejected);
    const random = ['--cache-salt', 'random'];
    expect(await run([...random, '--fail-fast', '--concurrency', '1'])).toMatchObject({ code: 10 });
    rejected.clear();
    writeFileSync(join(cwd, 'salt'), 'random');
    for (const flags of [['--cache-salt', '@salt'], []])
      expect(await run(['--resume', ...flags])).toMatchObject({
        code: 13,
        stderr: expect.stringContaining('started with other values for cache_salt'),
      });
    expect(await run(['--resume', ...random])).toMatchObject({ code: 0 });
    expect(counts.size).toBe(12);
    expect(once(counts)).toEqual(['p3']);
  });
});

/** A result line of svc 0.1. */
const entryOf01 = '{"line":1,"id":null,"status":200,"exit_code":0,"applied":"yes","reply":{},"attempts":1,"ms":2}\n';

function linkedName(cwd: string): string {
  symlinkSync('out.jsonl', join(cwd, 'link'));
  return 'link';
}

describe('a checkpoint file', () => {
  /** A run that stopped at its third line. */
  const stopped = async (): Promise<Batch> => {
    const rejected = new Set(['p3']);
    const made = await batch(twelve, rejected);
    expect((await made.run(['--fail-fast', '--concurrency', '1'])).code).toBe(10);
    rejected.clear();
    return made;
  };

  it('that was renamed without its .journal file leaves its lines unknown', async () => {
    const { run, cwd, counts } = await stopped();
    rmSync(join(cwd, 'out.jsonl.journal'));
    const before = counts.size;
    const { code, stderr } = await run();
    expect({ code, stderr }).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('out.jsonl.journal is missing'),
    });
    expect(stderr).toMatch(/\d+ unknown, 0 not sent/);
    expect(counts.size).toBe(before);
    expect(await run(['--resume', '--retry-unknown'])).toMatchObject({ code: 0 });
    expect(counts.size).toBe(12);
  });

  it.each([
    ['are removed', 0, 'has no complete result'],
    ['are cut in the first line', 100, 'has no complete result'],
  ])('whose results %s leaves its lines unknown, with a warning', async (_, length, found) => {
    const { cwd, counts, run, results } = await batch(['a', 'b']);
    expect((await run()).code).toBe(0);
    writeFileSync(join(cwd, 'out.jsonl'), readFileSync(join(cwd, 'out.jsonl')).subarray(0, length));
    const { code, stderr } = await run(['--resume']);
    expect(code, stderr).toBe(10);
    expect(stderr).toContain(`out.jsonl ${found}; its lines may have been applied`);
    expect([...counts.values()]).toEqual([1, 1]);
    expect((await run(['--resume', '--retry-unknown'])).code).toBe(0);
    expect(results()).toEqual(
      new Map([
        [1, 'a'],
        [2, 'b'],
      ]),
    );
  });

  it('beside the .journal file of another run is refused', async () => {
    const [one, two] = [await stopped(), await stopped()];
    renameSync(join(two.cwd, 'out.jsonl.journal'), join(one.cwd, 'out.jsonl.journal'));
    const { code, stderr } = await one.run();
    expect({ code, stderr }).toMatchObject({
      code: 13,
      stderr: expect.stringContaining('its results and its journal are of different runs'),
    });
  });

  it.each([
    ['./../', (cwd: string) => `./../${cwd.split('/').at(-1)}/out.jsonl`],
    ['a symbolic link', (cwd: string) => linkedName(cwd)],
  ])('is recognized under its other name %s', async (_, name) => {
    const { run, cwd, counts } = await stopped();
    const { code } = await run(['--resume', '-o', name(cwd)]);
    expect(code).toBe(0);
    expect(once(counts)).toEqual(['p3']);
    expect(readdirSync(cwd).filter((file) => /\.lock$/.test(file))).toEqual([]);
  });

  it('with a hard link is refused', async () => {
    const { run, cwd } = await stopped();
    linkSync(join(cwd, 'out.jsonl'), join(cwd, 'second.jsonl'));
    expect(await run()).toMatchObject({ code: 13, stderr: expect.stringContaining('out.jsonl has 2 names') });
  });

  it('that another process uses is rejected at once with the name of that process; an ended process blocks nobody', async () => {
    const { run, cwd } = await stopped();
    const { hostname } = await import('node:os');
    writeFileSync(join(cwd, 'out.jsonl.lock'), `${process.pid} ${hostname()} ab`);
    expect(await run()).toMatchObject({
      code: 13,
      stderr: expect.stringContaining(`in use by process ${process.pid}`),
    });
    writeFileSync(join(cwd, 'out.jsonl.lock'), `${process.pid} ${hostname()} ab 12`);
    expect(await run()).toMatchObject({ code: 0 });
  });

  it('and its log are readable by their owner only', async () => {
    const { cwd } = await stopped();
    for (const name of ['out.jsonl', 'out.jsonl.journal'])
      expect(statSync(join(cwd, name)).mode & 0o777, name).toBe(0o600);
  });

  it('with a flipped bit anywhere sends no line twice, and has no result on a wrong line', async () => {
    const prompts = Array.from({ length: 12 }, (_, at) => hash('sha256', `prompt ${at}`, 'hex'));
    const rejected = new Set([prompts[2] ?? '']);
    const { run, cwd, counts, results } = await batch(prompts, rejected);
    expect((await run(['--fail-fast', '--concurrency', '1'])).code).toBe(10);
    rejected.clear();
    const paths = ['out.jsonl', 'out.jsonl.journal'].map((name) => join(cwd, name));
    const whole = paths.map((path) => readFileSync(path));
    const sent = new Map(counts);
    for (const [index, path] of paths.entries()) {
      const bytes = whole[index] ?? Buffer.alloc(0);
      for (let at = (bytes.length - 1) % 31; at < bytes.length; at += 31) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
        writeFileSync(path, flipped);
        const { code } = await run(['--resume', '--fail-fast', '--concurrency', '1']);
        expect([0, 10, 12, 13], `${path} ${at}`).toContain(code);
        // The third line was rejected: only this one, and those after it, may be sent.
        for (const prompt of prompts.slice(0, 2)) expect(counts.get(prompt), `${path} ${at}`).toBe(sent.get(prompt));
        if (code === 0 || code === 10)
          for (const [line, text] of results())
            for (const other of prompts) if (other !== prompts[line - 1]) expect(text, `${path} ${at}`).not.toBe(other);
        for (const [other, content] of whole.entries()) writeFileSync(paths[other] ?? '', content);
      }
    }
    expect(await run()).toMatchObject({ code: 0 });
  });

  it('that lost a result after it was complete does not send that line again', async () => {
    const { run, cwd, counts } = await batch(twelve);
    await run([]);
    const [, ...kept] = readFileSync(join(cwd, 'out.jsonl'), 'utf8').split('\n');
    writeFileSync(join(cwd, 'out.jsonl'), kept.join('\n'));
    const { code, stderr } = await run();
    expect(code, stderr).toBe(10);
    expect(stderr).toContain('12 lines: 11 done, 0 failed, 1 unknown, 0 not sent');
    expect(once(counts)).toEqual([]);
  });

  it('with the earlier result of a changed line that a killed run sent does not look like one that lost results', async () => {
    const { run, cwd, write } = await batch(twelve);
    await run([]);
    const path = join(cwd, 'out.jsonl');
    const complete = readFileSync(path);
    write(['lost', ...twelve.slice(1)]);
    await run(['--resume', '--accept-changes']);
    // As if the run had been killed before it stored the result.
    writeFileSync(path, complete);
    for (const args of [['--resume', '--accept-changes'], ['--resume']]) {
      const { stderr } = await run(args);
      expect(stderr).toContain('12 lines: 11 done, 0 failed, 1 unknown');
      expect(stderr).not.toContain('lacks records');
    }
  });

  it.each<[string, (lines: string[]) => string[] | undefined]>([
    ['all results', () => undefined],
    ['one result', (lines) => lines.filter((_, at) => at !== 3)],
  ])('that lost %s of an earlier, complete run does not send those lines again', async (_, keep) => {
    const { run, cwd, counts, write } = await batch(twelve);
    await run([]);
    write([...twelve, 'p13', 'lost', 'p15']);
    for (const _ of ['added', 'again']) {
      const { stderr } = await run(['--resume', '--retries', '0']);
      expect(stderr).toContain('15 lines: 14 done, 0 failed, 1 unknown');
    }
    const path = join(cwd, 'out.jsonl');
    const kept = keep(readFileSync(path, 'utf8').split('\n'));
    rmSync(path);
    if (kept) writeFileSync(path, kept.join('\n'));
    const { code, stderr } = await run();
    expect(code, stderr).toBe(10);
    expect(stderr).toContain(kept ? '13 done, 0 failed, 2 unknown' : '0 done, 0 failed, 15 unknown');
    if (!kept) expect(stderr).toContain('out.jsonl is missing; its lines may have been applied');
    expect(once(counts)).toEqual([]);
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['its results', { 'out.jsonl': entryOf01 }, 'out.jsonl:1 was written by an earlier version of svc'],
    ['its results beside a journal', { 'out.jsonl': entryOf01, 'out.jsonl.journal': '' }, 'out.jsonl:1 was written by'],
    [
      'its .intents file',
      { 'out.jsonl': '', 'out.jsonl.intents': '{"line":1,"at":1}\n' },
      'out.jsonl.intents was written by',
    ],
    ['an .inflight file', { 'out.jsonl.inflight': '{"line":1,"at":1}\n' }, 'out.jsonl.inflight was written by'],
    ['an empty .inflight file', { 'out.jsonl.inflight': '' }, 'out.jsonl.inflight was written by'],
  ])('of an earlier version is refused by name: %s', async (_, files, message) => {
    const { run, cwd, counts } = await batch(twelve);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
    for (const args of [['--resume'], ['--resume', '--accept-changes', '--retry-unknown']]) {
      const { code, stderr } = await run(args);
      expect({ code, stderr }).toMatchObject({ code: 13, stderr: expect.stringContaining(message) });
      expect(stderr).toContain('finish that batch with the version that began it');
    }
    for (const [name, text] of Object.entries(files)) expect(readFileSync(join(cwd, name), 'utf8')).toBe(text);
    expect(counts.size).toBe(0);
  });
});

describe('an output that was edited', () => {
  const complete = async () => {
    const made = await batch([...twelve, 'lost-13'], new Set(['p5']));
    expect((await made.run(['--retries', '0'])).code).toBe(10);
    const path = join(made.cwd, 'out.jsonl');
    const linesOf = (): string[] => readFileSync(path, 'utf8').trimEnd().split('\n');
    const edit = (change: (lines: string[]) => string[]): void =>
      writeFileSync(
        path,
        change(linesOf())
          .map((line) => `${line}\n`)
          .join(''),
      );
    const summary = async (...args: string[]) =>
      /\d+ lines: .*not sent/.exec((await made.run(['--resume', '--retries', '0', ...args])).stderr)?.[0];
    return { ...made, linesOf, edit, summary };
  };

  it.each<[string, (lines: string[]) => string[]]>([
    ['reversed', (lines) => lines.toReversed()],
    ['sorted as text', (lines) => lines.toSorted()],
    ['reformatted', (lines) => lines.map((line) => JSON.stringify(JSON.parse(line)).replaceAll(',"', ', "'))],
    ['doubled', (lines) => [...lines, ...lines.toReversed()]],
    [
      'filtered for its members by another program',
      (lines) => lines.map((line) => JSON.stringify({ note: 'x', ...JSON.parse(line), attempts: undefined })),
    ],
  ])('and is %s sends nothing twice, and ends with one result per line in line order', async (_, change) => {
    const { edit, summary, counts, linesOf } = await complete();
    edit(change);
    expect(await summary()).toBe('13 lines: 11 done, 1 failed, 1 unknown, 0 not sent');
    expect(linesOf().map((line) => JSON.parse(line).line)).toEqual(Array.from({ length: 13 }, (_, at) => at + 1));
    expect(once(counts)).toEqual(['p5']);
  });

  it('by removing results leaves their lines unknown, also in later resumes', async () => {
    const { edit, summary, counts, linesOf } = await complete();
    edit((lines) => lines.filter((line) => !/"line":(2|5|9|13),/.test(line)));
    for (const _ of ['first', 'second'])
      expect(await summary()).toBe('13 lines: 9 done, 1 failed, 3 unknown, 0 not sent');
    expect(linesOf()).toHaveLength(13);
    expect(once(counts)).toEqual(['p5']);
    expect(await summary('--retry-unknown')).toBe('13 lines: 11 done, 1 failed, 1 unknown, 0 not sent');
    expect(once(counts).sort()).toEqual(['lost-13', 'p2', 'p5', 'p9']);
  });

  it('and whose journal is missing leaves every line without a result unknown, also in later resumes', async () => {
    const { edit, summary, counts, cwd, run } = await complete();
    edit((lines) => lines.filter((line) => !/"line":(2|5|9|13),/.test(line)));
    rmSync(join(cwd, 'out.jsonl.journal'));
    const { stderr } = await run();
    expect(stderr).toContain('out.jsonl.journal is missing; lines without a result may have been applied');
    for (const _ of ['second', 'third'])
      expect(await summary()).toBe('13 lines: 9 done, 0 failed, 4 unknown, 0 not sent');
    // Also if the results of those runs are removed again.
    edit((lines) => lines.filter((line) => !/"line":(2|5|9|13),/.test(line)));
    expect(await summary()).toBe('13 lines: 9 done, 0 failed, 4 unknown, 0 not sent');
    expect(once(counts)).toEqual([]);
  });

  it.each([
    ['empty', () => ''],
    ['cut in its first record', (text: string) => text.slice(0, 40)],
    ['cut after its first record', (text: string) => text.slice(0, text.indexOf('\n') + 1)],
    ['cut in its middle', (text: string) => text.slice(0, text.length / 2)],
  ])('and whose journal is %s is as one without a journal', async (_, cut) => {
    const { edit, summary, counts, cwd, run } = await complete();
    edit((lines) => lines.filter((line) => !/"line":(2|9|13),/.test(line)));
    const path = join(cwd, 'out.jsonl.journal');
    writeFileSync(path, cut(readFileSync(path, 'utf8')));
    const { stderr } = await run(['--resume', '--retries', '0']);
    expect(stderr).toContain('out.jsonl.journal lacks records of earlier runs');
    // A failed line is unknown too if the record of its failure was lost.
    expect(await summary()).toMatch(/^13 lines: 9 done, (1 failed, 3|0 failed, 4) unknown, 0 not sent$/);
    expect(['', 'p5']).toContain(once(counts).join());
  });
});

describe('a line that changed and was accepted', () => {
  it('is not sent as its earlier input again, if that may have been applied', async () => {
    const { run, write, counts, cwd } = await batch(['p1', 'lost-2']);
    expect((await run(['--retries', '0'])).code).toBe(10);
    const [first = ''] = readFileSync(join(cwd, 'out.jsonl'), 'utf8').split('\n');
    write(['p1', 'p2']);
    // The run ends before it sends the line: a journal with a later identity, and no more.
    const journal = readFileSync(join(cwd, 'out.jsonl.journal'));
    expect((await run(['--resume', '--accept-changes'])).code).toBe(0);
    expect(readFileSync(join(cwd, 'out.jsonl.journal'), 'utf8').slice(journal.length)).toMatch(
      /^\{"sending":2,"input":"[0-9a-f]{16}","was":"[0-9a-f]{16}","at":\d+\}\n$/,
    );
    writeFileSync(join(cwd, 'out.jsonl.journal'), journal);
    writeFileSync(join(cwd, 'out.jsonl'), `${first}\n`);
    write(['p1', 'lost-2']);
    const { stderr } = await run(['--resume']);
    expect(stderr).toContain('2 lines: 1 done, 0 failed, 1 unknown, 0 not sent');
    expect(counts.get('lost-2')).toBe(1);
  });

  it('is unknown if a run was killed before its result, and its earlier result no longer counts', async () => {
    const { run, write, counts, cwd, results } = await batch(['p1', 'p2']);
    expect((await run([])).code).toBe(0);
    const output = readFileSync(join(cwd, 'out.jsonl'));
    write(['p1', 'other']);
    expect((await run(['--resume', '--accept-changes'])).code).toBe(0);
    writeFileSync(join(cwd, 'out.jsonl'), output);
    expect((await run()).stderr).toContain('2 lines: 1 done, 0 failed, 1 unknown, 0 not sent');
    expect([...counts]).toEqual([
      ['p1', 1],
      ['p2', 1],
      ['other', 1],
    ]);
    expect((await run(['--resume', '--retry-unknown'])).code).toBe(0);
    expect([...results().values()]).toEqual(['p1', 'other']);
  });
});
