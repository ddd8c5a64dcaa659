import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openReplacement, writeFileAtomically } from '../../src/files/file-replacement.ts';
import { temporaryDirectory } from '../support/svc.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;
const written = async (path: string, text: string, mode?: number): Promise<void> =>
  writeFileAtomically(path, path, text, mode);

function umask(mask: number): void {
  const before = process.umask(mask);
  onTestFinished(() => void process.umask(before));
}

describe('a replaced file', () => {
  it.each([0o640, 0o644, 0o600, 0o777, 0o400])('keeps its mode %o whatever the umask', async (mode) => {
    const path = join(temporaryDirectory(), 'f');
    writeFileSync(path, 'old');
    chmodSync(path, mode);
    umask(0o077);
    await written(path, 'new');
    expect([modeOf(path), readFileSync(path, 'utf8')]).toEqual([mode, 'new']);
  });

  it.each([
    [0o022, undefined, 0o644],
    [0o077, undefined, 0o600],
    [0, 0o600, 0o600],
  ])('that is new has, under umask %o and of mode %o, the mode %o', async (mask, mode, expected) => {
    const path = join(temporaryDirectory(), 'f');
    umask(mask);
    await written(path, 'new', mode);
    expect(modeOf(path)).toBe(expected);
  });

  it.each([
    ['a link', 'target', true],
    ['a link that leads nowhere yet', 'target', false],
    ['a link to a link, in another directory', 'deep/link', false],
  ])('behind %s is the target, not the link', async (_, to, isThere) => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, 'deep'));
    symlinkSync('../target', join(cwd, 'deep', 'link'));
    symlinkSync(to, join(cwd, 'f'));
    if (isThere) writeFileSync(join(cwd, 'target'), 'old');
    await written(join(cwd, 'f'), 'new');
    expect(readlinkSync(join(cwd, 'f'))).toBe(to);
    expect(readFileSync(join(cwd, 'target'), 'utf8')).toBe('new');
    expect(readdirSync(cwd).sort()).toEqual(['deep', 'f', 'target']);
  });

  it.each([
    ['a link in a circle', (path: string) => symlinkSync('f', path), /^cannot write /],
    ['a file in no directory', () => {}, /no such file or directory/],
  ])('cannot be %s', async (_, make, message) => {
    const cwd = temporaryDirectory();
    make(join(cwd, 'f'));
    const path = join(cwd, message.source.includes('circle') ? 'f' : 'none/f');
    await expect(written(path, 'new')).rejects.toThrow(message);
  });

  it('that cannot be renamed leaves nothing behind, or its partial output', async () => {
    const cwd = temporaryDirectory();
    const path = join(cwd, 'f');
    const begun = async (): Promise<Awaited<ReturnType<typeof openReplacement>>> => {
      const file = await openReplacement(path, 'f');
      await file.write('text');
      return file;
    };
    const [removed, kept, stuck] = [await begun(), await begun(), await begun()];
    mkdirSync(path);
    mkdirSync(join(cwd, 'directory'));
    for (const file of [removed, kept, stuck]) await expect(file.commit()).rejects.toThrow('cannot write f: ');
    await removed.abandon();
    await kept.abandon(`${path}.partial`);
    await expect(stuck.abandon(join(cwd, 'directory'))).rejects.toMatchObject({
      code: 'local_file',
      facts: { hint: `the partial output is in ${join(cwd, '.f.3.tmp')}` },
    });
    expect(readdirSync(cwd).sort()).toEqual(['.f.3.tmp', 'directory', 'f', 'f.partial']);
    expect(readFileSync(`${path}.partial`, 'utf8')).toBe('text');
  });
});
