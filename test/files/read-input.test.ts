import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { InterruptedError } from '../../src/errors.ts';
import { readInputFile } from '../../src/files/read-input.ts';
import { temporaryDirectory } from '../support/svc.ts';

const { signal: idle } = new AbortController();

function makeFifo(): string {
  const path = join(temporaryDirectory(), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

describe('readInputFile', () => {
  it.each([0, 1, 65_536, 1_000_000])('returns a file of %i bytes', async (length) => {
    const path = join(temporaryDirectory(), 'file');
    const bytes = Buffer.alloc(length, 'abc');
    writeFileSync(path, bytes);
    expect((await readInputFile(path, 'file', { signal: idle, maxBytes: 1_000_000 })).equals(bytes)).toBe(true);
  });

  it.each([
    ['a file', '/proc/self/exe'],
    ['an endless device', '/dev/zero'],
  ])('rejects %s that is larger than the limit', async (_, path) => {
    await expect(readInputFile(path, 'in', { signal: idle, maxBytes: 2 * 1024 * 1024 })).rejects.toMatchObject({
      code: 'local_file',
      message: 'cannot read in: it has more than 2 MiB, the limit for this input',
    });
  });

  it.each([
    ['/', 'cannot read in: it is a directory'],
    ['/nothing', 'cannot read in: no such file or directory'],
  ])('names what is wrong with %s', async (path, message) => {
    await expect(readInputFile(path, 'in', { signal: idle, maxBytes: 9 })).rejects.toMatchObject({ message });
  });

  it('waits for the writer of a FIFO, however late it comes', async () => {
    const path = makeFifo();
    const reading = readInputFile(path, 'pipe', { signal: idle, maxBytes: 100 });
    for (let turn = 0; turn < 100; turn++) await setImmediate();
    const writer = createWriteStream(path);
    await once(writer.end('{"a":1}'), 'close');
    expect((await reading).toString()).toBe('{"a":1}');
  });

  // Whether the signal comes while the FIFO is being opened or later.
  it.each([0, 1, 2, 3, 5, 100])(
    'ends the wait for a writer with the reason of a signal after %d turns',
    async (turns) => {
      const controller = new AbortController();
      const reading = readInputFile(makeFifo(), 'pipe', { signal: controller.signal, maxBytes: 100 });
      const reason = new InterruptedError('SIGINT');
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      controller.abort(reason);
      await expect(reading).rejects.toBe(reason);
    },
  );
});
