import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLineTable, type LineTable } from '../../src/batch/store/line-table.ts';
import { openOutput, readOutput, sortOutput } from '../../src/batch/store/output-file.ts';
import { formatResult, type LineKey, parseResultLine } from '../../src/batch/store/result-line.ts';
import { Failure } from '../../src/errors.ts';
import { UNSENT } from '../../src/reports/batch/line-facts.ts';
import { temporaryDirectory } from '../support/svc.ts';

const run = '01a1fd65-c7c7-7d58-a39c-000000000000';
const digestOf = (line: number): string => `${line}`.padStart(16, '0');
const lineKey = (line: number, more: Partial<LineKey> = {}): LineKey => ({
  line,
  id: `"a\\"${line}"`,
  checkpoint: { input: digestOf(line), run, operation: '/v1/x', shard: '1/1' },
  revision: 0,
  ...more,
});
const result = { ...UNSENT, attempts: 2, milliseconds: 2 };
const success = (line: number, more: Partial<LineKey> = {}, response = '{"n":12345678901234567890,"x":1.0}') =>
  formatResult(lineKey(line, more), { ...result, httpStatus: 200 }, Buffer.from(response));
const failure = (
  line: number,
  applied: 'no' | 'yes' | 'unknown',
  code: 'refused' | 'unknown' | 'invalid_response' = 'refused',
  more: Partial<LineKey> = {},
): Buffer =>
  formatResult(
    lineKey(line, more),
    { ...result, failure: new Failure(code, 'no', { status: 400, applied }) },
    Buffer.from('{"error":"x"}'),
  );

describe('a result line', () => {
  it('has the response with every digit, on one line', () => {
    expect(success(7).toString()).toBe(
      `{"line":7,"id":"a\\"7","status":200,"exit_code":0,"applied":"yes","response":{"n":12345678901234567890,"x":1.0},"attempts":2,"ms":2,"checkpoint":{"input":"0000000000000007","run":"${run}","operation":"/v1/x","shard":"1/1"}}\n`,
    );
    const lines = success(7, {}, '{\n  "a": "b c",\r\n  "n": 1e400\n}\n').toString();
    expect(lines).toContain('"response":{"a":"b c","n":1e400},');
    const marked = ['\ufeff{"a":1}', '\ufeff{\n "a": "\\"\\\\ "}\n'].map(
      (response) => JSON.parse(success(7, {}, response).toString()).response,
    );
    expect(marked).toEqual([{ a: 1 }, { a: '"\\ ' }]);
    expect(lines.indexOf('\n')).toBe(lines.length - 1);
  });

  it('keeps a response that is not JSON as text', () => {
    const failed = new Failure('invalid_response', 'not JSON', { applied: 'yes' });
    const broken = formatResult(lineKey(1), { ...result, failure: failed }, Buffer.from('<html>\n"'));
    expect(JSON.parse(broken.toString())).toMatchObject({ response: '<html>\n"', exit_code: 11, applied: 'yes' });
  });

  it.each([
    ['a success', success(3)],
    ['a success with a long response', success(3, {}, `{"x":"${'y'.repeat(5000)}"}`)],
    ['a failure', failure(3, 'unknown', 'unknown')],
    ['a revised failure', failure(3, 'unknown', 'unknown', { revision: 3 })],
    ['a result with a long id', success(3, { id: `"${'i'.repeat(3000)}"` })],
    ['a result with a number as its id', success(3, { id: '-1.5e3' })],
    ['a response that looks like the end of a result', success(3, {}, `{"checkpoint":{"input":"${digestOf(9)}"}}`)],
  ])('is read the same as svc writes it and reformatted: %s', (_, bytes) => {
    const entry = parseResultLine(bytes.subarray(0, -1));
    expect(entry).toMatchObject({ line: 3, checkpoint: { input: digestOf(3), run, operation: '/v1/x', shard: '1/1' } });
    const { checkpoint, ...members } = JSON.parse(bytes.toString());
    const reformatted = JSON.stringify({ note: 1, checkpoint, ...members }, undefined, 1).replaceAll('\n', ' ');
    expect(parseResultLine(Buffer.from(reformatted))).toEqual(entry);
  });

  it.each([
    ['', 'not JSON'],
    ['{}', 'nothing'],
    ['{"line":0,"exit_code":0,"applied":"yes"}', 'no line'],
    ['{"line":1,"exit_code":0,"applied":"maybe"}', 'no outcome'],
    ['{"line":1.5,"exit_code":0,"applied":"no"}', 'half a line'],
    ['[1]', 'a list'],
  ])('%s is not a result line: %s', (text) => {
    expect(parseResultLine(Buffer.from(text))).toBeUndefined();
  });
});

const newOutput = () => ({ path: join(temporaryDirectory(), 'out.jsonl'), displayPath: 'out.jsonl' });

describe('an output', () => {
  const results = [
    success(1),
    failure(3, 'no'),
    failure(2, 'unknown', 'unknown'),
    success(3),
    failure(5, 'yes', 'invalid_response'),
  ];
  const whole = Buffer.concat(results);
  const outcomes = (table: LineTable) =>
    Array.from(table.lines(), (line) => [line, table.result(line)?.exitCode, table.result(line)?.applied]);

  it('that was cut at any byte has the results before the cut', async () => {
    const output = newOutput();
    const ends = results.map((_, at) => Buffer.concat(results.slice(0, at + 1)).length);
    for (let length = 0; length <= whole.length; length += 1) {
      writeFileSync(output.path, whole.subarray(0, length));
      const table = createLineTable();
      const state = await readOutput(output, 0, table);
      const isUnterminated = ends.includes(length + 1);
      const validBytes = isUnterminated ? length : Math.max(0, ...ends.filter((end) => end <= length));
      expect(state).toMatchObject({ validBytes, isUnterminated });
      const count = ends.filter((end) => end <= length || end === length + 1).length;
      expect(Array.from(table.lines())).toEqual([[], [1], [1, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3, 5]][count]);
    }
  });

  it('has one result of each line, whatever their order', async () => {
    const output = newOutput();
    const revised = [
      success(6),
      failure(6, 'unknown', 'unknown', { revision: 1 }),
      success(7),
      failure(7, 'unknown', 'unknown', { revision: 1 }),
      success(7, { revision: 2 }),
      failure(2, 'no'),
    ];
    const all = [...results, failure(1, 'no'), ...revised];
    const expected = [
      [1, 0, 'yes'],
      [2, 8, 'unknown'],
      [3, 0, 'yes'],
      [5, 11, 'yes'],
      [6, 8, 'unknown'],
      [7, 0, 'yes'],
    ];
    for (let turn = 0; turn < all.length; turn += 1) {
      const rotated = [...all.slice(turn), ...all.slice(0, turn)];
      for (const order of [rotated, rotated.toReversed()]) {
        writeFileSync(output.path, Buffer.concat(order));
        const table = createLineTable();
        await readOutput(output, 0, table);
        expect(outcomes(table)).toEqual(expected);
      }
    }
  });

  it('has the result of the input that was sent last, whatever their order', async () => {
    const output = newOutput();
    const changed = { checkpoint: { ...lineKey(1).checkpoint, input: digestOf(99) } };
    for (const order of [
      [success(1), failure(1, 'no', 'refused', changed)],
      [failure(1, 'no', 'refused', changed), success(1)],
    ]) {
      writeFileSync(output.path, Buffer.concat(order));
      for (const isWithdrawn of [false, true]) {
        const table = createLineTable();
        table.setSent(1, { digest: digestOf(99), timestampMs: 1 });
        if (isWithdrawn) table.setSent(1, undefined);
        await readOutput(output, 0, table);
        expect(table.result(1)?.digest).toBe(digestOf(99));
      }
    }
  });

  it('is sorted: one result per line, in order, byte for byte', async () => {
    const output = newOutput();
    writeFileSync(output.path, whole);
    const none: ReadonlySet<number> = new Set();
    await sortOutput(output, createLineTable(), none, () => {});
    const sorted = Buffer.concat([
      success(1),
      failure(2, 'unknown', 'unknown'),
      success(3),
      failure(5, 'yes', 'invalid_response'),
    ]);
    expect(readFileSync(output.path)).toEqual(sorted);
    await sortOutput(output, createLineTable(), none, () => {});
    expect(readFileSync(output.path)).toEqual(sorted);
    await sortOutput(output, createLineTable(), new Set([2, 4]), () => {});
    expect(readFileSync(output.path)).toEqual(
      Buffer.concat([success(1), success(3), failure(5, 'yes', 'invalid_response')]),
    );
    const isLost = (): void => {
      throw new Error('taken over');
    };
    await expect(sortOutput(output, createLineTable(), new Set([1]), isLost)).rejects.toThrow('taken over');
    expect(readFileSync(output.path).subarray(0, success(1).length)).toEqual(success(1));
  });

  it('may have empty lines; any other file is rejected', async () => {
    const output = newOutput();
    writeFileSync(output.path, Buffer.concat([Buffer.from('\n'), success(4), Buffer.from('\n')]));
    const table = createLineTable();
    await readOutput(output, 0, table);
    expect(Array.from(table.lines())).toEqual([4]);
    writeFileSync(output.path, Buffer.concat([success(4), Buffer.from('hello\n'), success(5)]));
    await expect(readOutput(output, 0, createLineTable())).rejects.toThrow('out.jsonl:2 is not a result of a batch');
  });

  it.each([
    [
      'svc 0.1',
      success(4)
        .toString()
        .replace(/,"checkpoint":.*/, '}'),
    ],
    [
      '0.2 before its journal',
      success(4)
        .toString()
        .replace(
          /"checkpoint":.*/,
          `"checkpoint":{"input":"${digestOf(4)}","run":"${run}","settings":{},"check":"01234567"}}`,
        ),
    ],
  ])('of %s is refused by name', async (_, text) => {
    const output = newOutput();
    writeFileSync(output.path, text);
    await expect(readOutput(output, 0, createLineTable())).rejects.toMatchObject({
      exitCode: 13,
      message: 'out.jsonl:1 was written by an earlier version of svc: the result has no checkpoint',
    });
  });

  it('is truncated to complete lines before the run continues', async () => {
    const output = newOutput();
    writeFileSync(output.path, Buffer.concat([success(1), success(2).subarray(0, 30)]));
    const state = await readOutput(output, 0, createLineTable());
    const file = await openOutput(output, state ?? { validBytes: 0, isUnterminated: false }, () => {});
    await Promise.all([file.append(success(3)), file.append(success(4))]);
    expect(file.isAtPath()).toBe(true);
    await file.finish();
    expect(readFileSync(output.path)).toEqual(Buffer.concat([success(1), success(3), success(4)]));
  });
});
