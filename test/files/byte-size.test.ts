import { describe, expect, it } from 'vitest';
import { formatByteSize } from '../../src/files/byte-size.ts';
import { run, serve } from '../support/process.ts';

describe('a size in bytes', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1025, '1.1 KiB'],
    [64 * 1024, '64 KiB'],
    [1024 ** 2 - 1, '1 MiB'],
    [1024 ** 2 + 1, '1.1 MiB'],
    [1.5 * 1024 ** 3, '1.5 GiB'],
  ])('of %d is %s', (bytes, text) => {
    expect(formatByteSize(bytes)).toBe(text);
  });

  it('has the units of the flags in messages', async () => {
    const { env } = await serve(['--max-body', '96K']);
    const message = { role: 'user', content: 'x'.repeat(200_000) };
    const chat = await run(['chat', '-f', '-'], { env, stdin: JSON.stringify({ messages: [message] }) });
    expect(chat).toMatchObject({ code: 5, stderr: expect.stringContaining('the body may have at most 96 KiB') });
  });
});
