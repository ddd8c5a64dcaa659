import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '../../src/batch/checkpoint-file.ts';
import { compactCheckpoint } from '../../src/batch/compact-checkpoint.ts';
import { openInFlightLog, readInFlightLog } from '../../src/batch/in-flight-log.ts';
import { createLineIndex } from '../../src/batch/line-index.ts';
import { parseResultEntry } from '../../src/batch/parse-result-entry.ts';
import { readCheckpoint } from '../../src/batch/read-checkpoint.ts';
import { formatFailureEntry, formatSuccessEntry } from '../../src/batch/result-entry.ts';
import { Failure } from '../../src/errors.ts';
import { temporaryDirectory } from '../support/svc.ts';

const outcome = (line: number) => ({ line, id: `"a\\"${line}"`, attempts: 2, milliseconds: 1.6 });
const clean = (text: string): string => text;
const successEntry = (line: number, reply = '{"n":12345678901234567890,"x":1.0}'): Buffer =>
  formatSuccessEntry(outcome(line), 200, { bytes: Buffer.from(reply) });
const failureEntry = (
  line: number,
  applied: 'no' | 'yes' | 'unknown',
  code: 'refused' | 'unknown' | 'answer' = 'refused',
): Buffer =>
  formatFailureEntry(outcome(line), new Failure(code, 'no', { status: 400, applied }), clean, {
    bytes: Buffer.from('{"error":"x"}'),
  });

describe('a result line', () => {
  it('has the response with every digit, on one line', () => {
    expect(successEntry(7).toString()).toBe(
      '{"line":7,"id":"a\\"7","status":200,"exit_code":0,"applied":"yes","reply":{"n":12345678901234567890,"x":1.0},"attempts":2,"ms":2}\n',
    );
    const lines = successEntry(7, '{\n  "a": "b c",\r\n  "n": 1e400\n}\n').toString();
    expect(lines).toContain('"reply":{"a":"b c","n":1e400},');
    expect(lines.indexOf('\n')).toBe(lines.length - 1);
  });

  it('keeps a response that is not JSON as text', () => {
    const broken = formatFailureEntry(outcome(1), new Failure('answer', 'not JSON', { applied: 'yes' }), clean, {
      bytes: Buffer.from('<html>\n"'),
    });
    expect(JSON.parse(broken.toString())).toMatchObject({ reply: '<html>\n"', exit_code: 11, applied: 'yes' });
  });

  it.each([
    ['', 'not JSON'],
    ['{}', 'nothing'],
    ['{"line":0,"exit_code":0,"applied":"yes"}', 'no line'],
    ['{"line":1,"exit_code":0,"applied":"maybe"}', 'no verdict'],
    ['{"line":1.5,"exit_code":0,"applied":"no"}', 'half a line'],
    ['[1]', 'a list'],
  ])('%s is not a result line: %s', (text) => {
    expect(parseResultEntry(Buffer.from(text))).toBeUndefined();
  });
});

describe('a checkpoint file', () => {
  const entries = [
    successEntry(1),
    failureEntry(3, 'no'),
    failureEntry(2, 'unknown', 'unknown'),
    successEntry(3),
    failureEntry(5, 'yes', 'answer'),
  ];
  const whole = Buffer.concat(entries);

  it('that was cut anywhere is read up to its last complete line', async () => {
    const path = join(temporaryDirectory(), 'out.jsonl');
    const ends = entries.map((_, at) => Buffer.concat(entries.slice(0, at + 1)).length);
    for (let length = 0; length <= whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length));
      const table = createLineIndex();
      const history = await readCheckpoint(path, 'out.jsonl', 0, table);
      const isUnended = ends.includes(length + 1);
      const kept = isUnended ? length : Math.max(0, ...ends.filter((end) => end <= length));
      expect(history).toMatchObject({ validBytes: kept, isUnterminated: isUnended });
      const count = ends.filter((end) => end <= length || end === length + 1).length;
      expect(Array.from(table.lines())).toEqual([[], [1], [1, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3, 5]][count]);
    }
  });

  it('has the last result of each line, but no failure after a success', async () => {
    const path = join(temporaryDirectory(), 'out.jsonl');
    writeFileSync(path, Buffer.concat([whole, failureEntry(1, 'no')]));
    const table = createLineIndex();
    await readCheckpoint(path, 'out.jsonl', 0, table);
    const said = [1, 2, 3, 4, 5]
      .map((line) => table.get(line))
      .map((found) => found && [found.exitCode, found.applied]);
    expect(said).toEqual([[0, 'yes'], [8, 'unknown'], [0, 'yes'], undefined, [11, 'yes']]);
  });

  it('is compacted: one result per line, in order, byte for byte', async () => {
    const path = join(temporaryDirectory(), 'out.jsonl');
    writeFileSync(path, whole);
    await compactCheckpoint({ path, displayPath: 'out.jsonl' });
    expect(readFileSync(path)).toEqual(
      Buffer.concat([
        successEntry(1),
        failureEntry(2, 'unknown', 'unknown'),
        successEntry(3),
        failureEntry(5, 'yes', 'answer'),
      ]),
    );
    const tidy = readFileSync(path);
    await compactCheckpoint({ path, displayPath: 'out.jsonl' });
    expect(readFileSync(path)).toEqual(tidy);
  });

  it('may be reformatted; any other file is rejected', async () => {
    const path = join(temporaryDirectory(), 'out.jsonl');
    writeFileSync(path, '{ "exit_code" : 0, "line": 4, "applied": "yes" }\n');
    const table = createLineIndex();
    await readCheckpoint(path, 'out.jsonl', 0, table);
    expect(Array.from(table.lines())).toEqual([4]);
    writeFileSync(path, '{"line":1,"exit_code":0,"applied":"yes"}\nhello\n{}\n');
    await expect(readCheckpoint(path, 'out.jsonl', 0, createLineIndex())).rejects.toThrow(
      'out.jsonl:2 is not a result of a batch',
    );
  });

  it('is truncated to complete lines before the run continues', async () => {
    const path = join(temporaryDirectory(), 'out.jsonl');
    writeFileSync(path, Buffer.concat([successEntry(1), successEntry(2).subarray(0, 30)]));
    const { validBytes } = await readCheckpoint(path, 'out.jsonl', 0, createLineIndex());
    const checkpoint = await openCheckpoint(path, 'out.jsonl', validBytes);
    await Promise.all([checkpoint.append(successEntry(3)), checkpoint.append(successEntry(4))]);
    await checkpoint.close();
    expect(readFileSync(path)).toEqual(Buffer.concat([successEntry(1), successEntry(3), successEntry(4)]));
  });
});

const mark = (timestampMs: number) => ({ timestampMs, digest: '0123456789abcdef' });

describe('the in-flight log', () => {
  it('that was cut anywhere has the durable records', async () => {
    const path = join(temporaryDirectory(), 'out.jsonl.inflight');
    const intents = await openInFlightLog(path, 'x', {
      runId: 'r',
      operation: '/x',
      identity: { operation: '/x', shard: '1/1', baseUrl: 'o', values: { model: 'd' } },
      lines: new Map(),
      hasLostRecords: false,
      successCount: 0,
      validBytes: 0,
    });
    await Promise.all([intents.markInFlight(1, mark(10)), intents.markInFlight(2, mark(20))]);
    await intents.clearInFlight(1);
    await intents.markInFlight(3, mark(30));
    await intents.close();
    const whole = readFileSync(path);
    const seen = new Set<string>();
    for (let length = 0; length <= whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length));
      const said = await readInFlightLog(path, 'x', () => false);
      expect(said === undefined || whole.subarray(0, said.validBytes).at(-1) === 0x0a).toBe(true);
      seen.add(JSON.stringify(said ? Array.from(said.lines, ([line, { timestampMs }]) => [line, timestampMs]) : null));
    }
    expect([...seen].map((one) => JSON.parse(one))).toEqual([
      null,
      [],
      [[1, 10]],
      [
        [1, 10],
        [2, 20],
      ],
      [[2, 20]],
      [
        [2, 20],
        [3, 30],
      ],
    ]);
  });

  it('of another kind is rejected', async () => {
    const path = join(temporaryDirectory(), 'out.jsonl.inflight');
    writeFileSync(path, 'hello\n');
    await expect(readInFlightLog(path, 'x.inflight', () => false)).rejects.toThrow(
      'x.inflight was not written by a batch',
    );
    expect(await readInFlightLog(`${path}.other`, 'y', () => false)).toBeUndefined();
  });
});
