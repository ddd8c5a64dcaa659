import { appendFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { bytesRead, noStrace } from '../support/strace.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const chat = (content: string) => JSON.stringify({ messages: [{ role: 'user', content }] });
const lines = (count: number, from = 1): string[] =>
  Array.from({ length: count }, (_, at) => chat(`p${String(at + from).padStart(4, '0')}`));
const text = (all: readonly string[], end = '\n'): string => all.map((line) => line + end).join('');

interface Shards {
  readonly path: (name: string) => string;
  readonly counts: ReadonlyMap<string, number>;
  readonly run: (index: number, count: number, ...args: string[]) => Promise<Result>;
  readonly svc: (...args: string[]) => Promise<Result>;
  /** The numbers of the lines in the output of a shard. */
  readonly numbers: (index: number) => number[];
}

/** A batch in shards; a prompt that begins with `bad` gets a 400. */
async function shards(input: string): Promise<Shards> {
  const cwd = temporaryDirectory();
  const { url, counts } = await countingServer(
    (body) => JSON.parse(body).messages.at(-1).content,
    ({ key }, response) => {
      if (key.startsWith('bad')) return answerJson(response, { detail: 'no' }, 400);
      answerJson(response, { model: 'm', choices: [{ index: 0, message: { content: key }, finish_reason: 'stop' }] });
    },
  );
  const path = (name: string): string => join(cwd, name);
  writeFileSync(path('in.jsonl'), input);
  const env = { SVC_TOKEN: 'tok-en-1', SVC_BASE_URL: url };
  return {
    path,
    counts,
    svc: (...args) => svc(args, { cwd, env }),
    run: (index, count, ...args) =>
      svc(['chat', '--batch', 'in.jsonl', '--shard', `${index}/${count}`, '-o', `${index}.jsonl`, ...args], {
        cwd,
        env,
      }),
    numbers: (index) =>
      readFileSync(path(`${index}.jsonl`), 'utf8')
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line).line]))
        .sort((one, other) => one - other),
  };
}

const long = chat('x'.repeat(20_000));

describe('the shards of a file', () => {
  it.each<[string, string, number, number]>([
    ['lines of one length', text(lines(9)), 3, 9],
    ['CRLF', text(lines(11), '\r\n'), 4, 11],
    ['a last line without a line feed', text(lines(7)).trimEnd(), 3, 7],
    ['more shards than lines', text(lines(4)), 9, 4],
    ['a line that is longer than a part and a block', text([chat('p1'), long, chat('p3')]), 5, 3],
    ['a last line that is longer than a part, without a line feed', text([chat('p1'), long]).trimEnd(), 5, 2],
    ['a byte order mark', `\ufeff${text(lines(5))}`, 2, 5],
    ['empty lines', text(lines(6).flatMap((line) => ['', line, '  '])), 3, 6],
    ['no line', '', 3, 0],
    ['many blocks', text(Array.from({ length: 24 }, (_, at) => chat(String(at).padStart(120_000)))), 7, 24],
  ])('have each line once, with its number in the file: %s', async (_, input, count, sent) => {
    for (const hasIndex of [false, true]) {
      const { run, counts, numbers, svc, path } = await shards(input);
      if (hasIndex) expect(await svc('batch', 'index', 'in.jsonl')).toMatchObject({ code: 0 });
      const found: number[] = [];
      for (let index = 1; index <= count; index += 1) {
        for (const more of [[], ['--resume']])
          expect(await run(index, count, ...more), `${index}`).toMatchObject({ code: 0 });
        found.push(...numbers(index));
      }
      const all = input.replace('\ufeff', '').split('\n');
      expect(found).toEqual(all.flatMap((line, at) => (line.trim() === '' ? [] : [at + 1])));
      expect([counts.size, [...counts.values()].every((one) => one === 1)]).toEqual([sent, true]);
      const files = Array.from({ length: count }, (_, at) => `${at + 1}.jsonl`);
      const merged = await svc('batch', 'merge', ...files, '--input', 'in.jsonl', '-o', 'all.jsonl');
      expect(merged).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(`${sent} done, 0 failed, 0 unknown; 0 missing`),
      });
      expect(existsSync(path('all.jsonl'))).toBe(true);
    }
  });

  it('are the same with and without an index, and in a dry run', async () => {
    const { run, svc } = await shards(text(lines(500)));
    const counts = async () => {
      const found: unknown[] = [];
      for (let index = 1; index <= 6; index += 1) found.push(JSON.parse((await run(index, 6, '-n')).stdout));
      return found;
    };
    const before = await counts();
    await svc('batch', 'index', 'in.jsonl');
    expect(await counts()).toEqual(before);
  });

  it.skipIf(noStrace())('read their part and little more, with an index', async () => {
    const count = 100_000;
    const { path, svc } = await shards(text(lines(count)));
    expect((await svc('batch', 'index', 'in.jsonl')).code).toBe(0);
    const home = path('.');
    const paths = [path('in.jsonl'), path('in.jsonl.index')];
    const read = [1, 8, 20].map((shard) =>
      bytesRead(['chat', '--batch', 'in.jsonl', '--shard', `${shard}/20`, '-m', 'm', '-n', '-q'], home, paths),
    );
    const part = statSync(path('in.jsonl')).size / 20;
    expect(read.every((bytes) => bytes >= part * 0.95)).toBe(true);
    expect(read.reduce((sum, bytes) => sum + bytes, 0) / (read.length * part)).toBeLessThanOrEqual(1.05);
  });

  it('of a pipe and of rows are every n-th line, and a compressed file is refused', async () => {
    const { svc, path } = await shards('');
    const more = ['-m', 'm', '--shard', '2/3', '--local'];
    writeFileSync(path('rows.jsonl'), text(['{"x":1}', '{"x":2}', '{"x":3}', '{"x":4}', '{"x":5}']));
    await svc('chat', '--rows', 'rows.jsonl', '--prompt', '{{x}}', '-o', 'rows.out', ...more);
    const results = readFileSync(path('rows.out'), 'utf8').trim().split('\n');
    expect(results.map((line) => JSON.parse(line).line).sort()).toEqual([2, 5]);
    expect(readFileSync(path('rows.out.journal'), 'utf8')).not.toContain('"part"');
    writeFileSync(path('in.jsonl'), Buffer.from('1f8b0800aa0a0a0a0a', 'hex'));
    const { stderr } = await svc('chat', '--batch', 'in.jsonl', '--shard', '1/2', '-n');
    expect(stderr).toContain('in.jsonl is compressed with gzip');
  });

  it('of JSON in an array are rejected, in each shard', async () => {
    const { run } = await shards(`[\n${lines(6).join(',\n')}\n]\n`);
    for (const index of [1, 2, 3])
      expect(await run(index, 3)).toMatchObject({ code: 3, stderr: expect.stringContaining('is a JSON array') });
  });
});

describe('a shard that is continued', () => {
  const twelve = text(lines(12));

  // The second of three shards, lines 5 to 8, which stops after its second line.
  const stopped = async (hasIndex = false) => {
    const all = lines(12);
    all[5] = chat('bad');
    const input = text(all);
    const found = await shards(input);
    if (hasIndex) await found.svc('batch', 'index', 'in.jsonl');
    expect((await found.run(2, 3, '--fail-fast', '--concurrency', '1')).code).toBe(10);
    expect(found.numbers(2)).toEqual([5, 6]);
    return { ...found, input, write: (text: string) => writeFileSync(found.path('in.jsonl'), text) };
  };

  it.each<[string, (input: string) => string, RegExp]>([
    ['a line that was sent is edited', (input) => input.replace('p0005', 'q0005'), /changed lines: 5/],
    ['a line that was not sent is edited', (input) => input.replace('p0007', 'q0007'), /bytes of it changed/],
    ['lines are inserted before the part', (input) => text(lines(1, 90)) + input, /changed lines: 5/],
    [
      'a line is removed before the part',
      (input) => input.slice(input.indexOf('\n') + 1) + text(lines(1, 90)),
      /changed/,
    ],
    ['lines before it are joined, in place', (input) => input.replace('\n', ' '), /lines before it/],
    ['the file is shorter', (input) => input.slice(0, -3), /had \d+ when this shard was started/],
  ])('is refused if %s', async (_, edit, message) => {
    for (const isIndexed of ['never', 'before', 'again']) {
      const { run, write, input, counts, svc } = await stopped(isIndexed !== 'never');
      write(edit(input));
      if (isIndexed === 'again') expect((await svc('batch', 'index', 'in.jsonl')).code).toBe(0);
      const sent = counts.size;
      const { code, stderr } = await run(2, 3, '--resume');
      // The index of before does not show that the number of lines before the part changed.
      if (isIndexed === 'before' && String(message) === '/lines before it/') continue;
      expect({ code, stderr }).toMatchObject({ code: 13, stderr: expect.stringMatching(message) });
      expect(counts.size).toBe(sent);
    }
  });

  it('sends a changed line with --accept-changes, unless bounds moved', async () => {
    for (const hasIndex of [false, true]) {
      const { run, write, input, counts, numbers } = await stopped(hasIndex);
      write(input.replace('bad', 'new').replace('p0007', 'q0007'));
      expect((await run(2, 3, '--resume')).code).toBe(13);
      expect(await run(2, 3, '--resume', '--accept-changes')).toMatchObject({ code: 0 });
      expect(numbers(2)).toEqual([5, 6, 7, 8]);
      expect([...counts.keys()].sort()).toEqual(['bad', 'new', 'p0005', 'p0008', 'q0007']);
      write(`{}\n${input}`);
      expect(await run(2, 3, '--resume', '--accept-changes')).toMatchObject({
        code: 13,
        stderr: expect.stringContaining('lines before it or at its bounds changed'),
      });
    }
  });

  it('keeps its bounds in a file that grew, whose new lines the last shard sends', async () => {
    for (const input of [twelve, twelve.trimEnd()])
      for (const hasIndex of [false, true]) {
        const { run, path, numbers, counts, svc } = await shards(input);
        if (hasIndex) await svc('batch', 'index', 'in.jsonl');
        for (const index of [1, 2, 3]) expect((await run(index, 3)).code).toBe(0);
        appendFileSync(path('in.jsonl'), (input.endsWith('\n') ? '' : '\n') + text(lines(9, 13)));
        for (const index of [1, 2, 3]) expect(await run(index, 3, '--resume')).toMatchObject({ code: 0 });
        expect([1, 2, 3].map(numbers).map((found) => [found[0], found.at(-1)])).toEqual([
          [1, 4],
          [5, 8],
          [9, 21],
        ]);
        expect([counts.size, [...counts.values()].every((one) => one === 1)]).toEqual([21, true]);
      }
  });

  it('warns of a file that grew since it was indexed, whose new lines the last shard sends', async () => {
    for (const input of [twelve, twelve.trimEnd()]) {
      const { run, path, numbers, counts, svc } = await shards(input);
      await svc('batch', 'index', 'in.jsonl');
      const more = (input.endsWith('\n') ? '' : '\n') + text(lines(1, 13));
      appendFileSync(path('in.jsonl'), more);
      const grown = `in.jsonl grew by ${more.length} bytes since it was indexed, which shard 3/3 sends`;
      const hint = 'before any shard starts, run: svc batch index in.jsonl';
      const warning = expect.stringContaining(`${grown}; ${hint}`);
      for (const index of [1, 2, 3]) {
        expect(await run(index, 3, '--dry-run')).toMatchObject({ code: 0, stderr: warning });
        expect(await run(index, 3)).toMatchObject({ code: 0, stderr: warning });
        expect((await run(index, 3, '--resume')).stderr).not.toContain('grew');
      }
      expect([1, 2, 3].flatMap(numbers)).toEqual(Array.from({ length: 13 }, (_, at) => at + 1));
      expect([counts.size, [...counts.values()].every((one) => one === 1)]).toEqual([13, true]);
      await svc('batch', 'index', 'in.jsonl');
      expect((await run(1, 3, '--dry-run')).stderr).not.toContain('grew');
    }
  });

  it('does not send the rest of a last line that became longer', async () => {
    const { run, path } = await shards(text([chat('p1'), long]).trimEnd());
    expect((await run(1, 3, '--limit', '1')).code).toBe(0);
    expect((await run(3, 3)).code).toBe(0);
    appendFileSync(path('in.jsonl'), ` \n${text(lines(2, 3))}`);
    expect(await run(1, 3, '--resume', '--limit', '2')).toMatchObject({ code: 13 });
    expect(await run(3, 3, '--resume')).toMatchObject({ code: 0, stderr: expect.stringContaining('2 lines: 2 done') });
  });

  it('is refused as another part of n', async () => {
    const { svc } = await stopped();
    const other = await svc('chat', '--batch', 'in.jsonl', '--shard', '2/4', '-o', '2.jsonl', '--resume');
    expect(other).toMatchObject({ code: 13, stderr: expect.stringContaining('results of shard 2/3, not 2/4') });
  });

  it('of a journal without bounds takes every n-th line', async () => {
    const { run, path, numbers } = await stopped();
    const journal = readFileSync(path('2.jsonl.journal'), 'utf8');
    const [results = ''] = readFileSync(path('2.jsonl'), 'utf8').split('\n');
    writeFileSync(path('2.jsonl.journal'), journal.replace(/"part":\{.*?\},/, '').replace(/\n\{"sending":6.*/s, '\n'));
    writeFileSync(path('2.jsonl'), `${results}\n`);
    writeFileSync(path('in.jsonl'), twelve);
    expect(await run(2, 3, '--resume')).toMatchObject({ code: 0 });
    expect(numbers(2)).toEqual([2, 5, 8, 11]);
  });

  it('without its journal is the part that its results are in', async () => {
    const { run, path, counts } = await stopped();
    rmSync(path('2.jsonl.journal'));
    const { code, stderr } = await run(2, 3, '--resume');
    expect({ code, stderr }).toMatchObject({
      code: 10,
      stderr: expect.stringContaining('lines that may have been applied: 7-8'),
    });
    expect(counts.size).toBe(2);
  });
});

describe('an index', () => {
  const input = text(lines(3000));

  it.each<[string, (path: (name: string) => string) => void, RegExp]>([
    ['torn', (path) => truncateSync(path('in.jsonl.index'), 150), /is not a complete index of svc/],
    ['empty', (path) => truncateSync(path('in.jsonl.index'), 0), /is not a complete index of svc/],
    ['a file of its owner', (path) => writeFileSync(path('in.jsonl.index'), 'my notes\n'), /is not a complete index/],
    [
      'of a longer file',
      (path) => truncateSync(path('in.jsonl'), 100_000),
      /in\.jsonl\.index is of \d+ bytes, and in\.jsonl has 100000/,
    ],
    [
      'of a file with other text in the part',
      (path) => writeFileSync(path('in.jsonl'), input.replace('p1500', 'q1500')),
      /in\.jsonl and in\.jsonl\.index differ in lines \d+ to \d+/,
    ],
    [
      'with another number of a line',
      (path) => {
        const rows = readFileSync(path('in.jsonl.index'), 'utf8');
        writeFileSync(path('in.jsonl.index'), rows.replaceAll(/"line": +1\d\d\d,/g, '"line":           777,'));
      },
      /in\.jsonl and in\.jsonl\.index differ/,
    ],
  ])('that is %s is refused with what to do, before a line of it is sent', async (_, damage, message) => {
    const { run, svc, path, counts } = await shards(input);
    expect((await svc('batch', 'index', 'in.jsonl')).code).toBe(0);
    damage(path);
    const { code, stderr } = await run(2, 3, '--concurrency', '1', '--fail-fast');
    expect({ code, stderr }).toMatchObject({ code: 13, stderr: expect.stringMatching(message) });
    expect(stderr).toContain('svc batch index in.jsonl');
    expect(counts.has('q1500')).toBe(false);
  });

  it('replaces an index, and no other file', async () => {
    const { svc, path } = await shards(input);
    writeFileSync(path('in.jsonl.index'), '{"svc_index":1,"si');
    expect(await svc('batch', 'index', 'in.jsonl', '--json')).toMatchObject({ code: 0 });
    const { stdout } = await svc('batch', 'index', 'in.jsonl', '--json');
    expect(JSON.parse(stdout)).toEqual({
      index: 'in.jsonl.index',
      bytes: input.length,
      lines: 3000,
      block_bytes: 4096,
    });
    writeFileSync(path('in.jsonl.index'), 'my notes\n');
    expect(await svc('batch', 'index', 'in.jsonl')).toMatchObject({ code: 13 });
    expect(readFileSync(path('in.jsonl.index'), 'utf8')).toBe('my notes\n');
    expect(await svc('batch', 'index', '/dev/null')).toMatchObject({ code: 12 });
    expect(await svc('batch', 'index', '.')).toMatchObject({ code: 12 });
    expect(await svc('batch', 'index')).toMatchObject({ code: 2 });
  });
});
