import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { inShell, start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const FIFO_COMMANDS = [
  ['-f', ['feedback', 'schema', '-f', 'pipe', '--local']],
  ['@file', ['chat', 'x', '--no-stdin', '--tools', '@pipe', '--local']],
  ['--conversation', ['chat', 'x', '--no-stdin', '--conversation', 'pipe', '--local']],
  ['--batch', ['chat', '--batch', 'pipe', '--local']],
] as const;

function fifoDirectory(): string {
  const cwd = temporaryDirectory();
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  return cwd;
}

describe('a FIFO without a writer', () => {
  it.each(FIFO_COMMANDS)('as %s: a signal ends svc', async (_, args) => {
    const child = start(args, { cwd: fifoDirectory() });
    // The signal ends svc whatever it does at that time.
    const ending = waitForExit(child);
    const interrupt = setInterval(() => child.kill('SIGINT'), 300);
    const { code, signal, stderr } = await ending.finally(() => clearInterval(interrupt));
    expect([130, 'SIGINT'], stderr).toContain(signal ?? code);
  });

  it('as a YAML body of svc train: --timeout ends svc', async () => {
    const cwd = temporaryDirectory();
    execFileSync('mkfifo', [join(cwd, 'pipe.yaml')]);
    const { code, stderr } = await runBuilt(['train', '-f', 'pipe.yaml', '--local', '--timeout', '0.2s'], { cwd });
    expect({ code, stderr }).toMatchObject({ code: 12, stderr: expect.stringContaining('no end of pipe.yaml within') });
  });

  it.each([
    ['-f', ['feedback', 'schema', '-f', 'pipe']],
    ['--conversation', ['chat', 'x', '--conversation', 'pipe']],
    ['trajectories', ['train', 'pipe', '--model-id', '0190b5c0-0000-7000-8000-000000000001']],
  ])('as %s: --timeout ends svc, and nothing counts as empty', async (_, args) => {
    const { code, stderr } = await runBuilt([...args, '--local', '--timeout', '0.2s'], { cwd: fifoDirectory() });
    expect({ code, stderr }).toEqual({
      code: 12,
      stderr:
        'svc: no end of pipe within 0.2 s; nothing was sent\n  check what writes to it, or set a longer --timeout\n',
    });
  });

  it.each([
    ['sent', []],
    ['checked', ['--dry-run']],
  ])('as --batch, %s: --timeout ends svc', async (_, more) => {
    const args = ['chat', '--batch', 'pipe', '--local', '--timeout', '0.2s', ...more];
    const { code, stderr } = await runBuilt(args, { cwd: fifoDirectory() });
    expect(stderr).toContain('svc: no end of pipe within 0.2 s; nothing was sent\n');
    expect(code).toBe(12);
  });

  it('as --batch waits for lines after the first ones', async () => {
    const cwd = fifoDirectory();
    const line = '{"messages":[{"role":"user","content":"x"}]}';
    const feeder = `(echo '${line}'; sleep 2; echo '${line}') > pipe & svc chat --batch pipe --local --timeout 1s -o out; wait`;
    const { code, stderr } = await inShell(feeder, { cwd });
    expect(stderr).toContain('2 lines: 2 done');
    expect(code).toBe(0);
  });

  it('waits for the writer', async () => {
    const cwd = fifoDirectory();
    const child = start(['feedback', 'schema', '-f', 'pipe', '--dry-run', '-q'], { cwd });
    const body = '{"project_id":"a/b","start":"2026-01-01T00:00:00Z"}';
    const writer = start(['feedback', 'schema', '-f', '-', '--dry-run', '-q', '-o', 'body'], { cwd });
    writer.stdin?.end(body);
    await waitForExit(writer);
    execFileSync('sh', ['-c', 'cat body > pipe'], { cwd });
    expect(await waitForExit(child)).toMatchObject({ code: 0, stdout: body });
  });
});

describe('an endless input', () => {
  it.each([
    ['-f', ['call', 'start', '-f', '/dev/zero', '--local']],
    ['@file', ['chat', 'x', '--no-stdin', '--tools', '@/dev/zero', '--local']],
    ['--conversation', ['chat', 'x', '--no-stdin', '--conversation', 'zero', '--local']],
  ])('as %s is rejected', async (_, args) => {
    const cwd = temporaryDirectory();
    execFileSync('ln', ['-s', '/dev/zero', join(cwd, 'zero')]);
    const { code, stderr } = await runBuilt(args, { cwd });
    expect(stderr).toMatch(/^svc: cannot read \S+: it has more than 128 MiB, the limit for this input\n/);
    expect(code).toBe(12);
  });

  it.each([['--batch', ['chat', '--batch', '/dev/zero', '--local']]])(
    'as %s ends at the limit of a line',
    async (_, args) => {
      const { code, stderr } = await runBuilt(args, { cwd: temporaryDirectory() });
      expect(stderr).toContain('svc: cannot read /dev/zero: line 1 has more than 256 MiB, the limit for a line\n');
      expect(code).toBe(12);
    },
  );
});

it.each([['merge'], ['report']])('batch %s reads regular files only, and waits for no pipe', async (command) => {
  const cwd = temporaryDirectory();
  execFileSync('mkfifo', ['pipe'], { cwd });
  for (const [file, reason] of [
    ['pipe', 'it is not a regular file\n  save the output of the batch to a file first\n'],
    ['/dev/zero', 'it is not a regular file\n  save the output of the batch to a file first\n'],
    ['none.jsonl', 'no such file or directory\n  check the path and its directory\n'],
  ]) {
    const { code, stdout, stderr } = await runBuilt(['batch', command, `${file}`], { cwd });
    expect({ code, stdout, stderr }).toEqual({ code: 12, stdout: '', stderr: `svc: cannot read ${file}: ${reason}` });
  }
  const { code, stderr } = await runBuilt(['batch', command, '-'], { cwd });
  expect(code).toBe(2);
  expect(stderr).toMatch(/^svc: stdin cannot be the output of a batch\n/);
});

it('--batch with -o in a loop of symbolic links is exit 12', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'lines.jsonl'), '{}\n');
  execFileSync('ln', ['-s', 'loop', 'loop'], { cwd });
  const { code, stderr } = await runBuilt(['call', 'start', '--local', '--batch', 'lines.jsonl', '-o', 'loop'], {
    cwd,
  });
  expect({ code, stderr }).toEqual({
    code: 12,
    stderr: 'svc: cannot write loop: too many symbolic links\n  check the path and its directory\n',
  });
});

it.each([['talk.json'], ['./link.json']])(
  '--conversation talk.json with -o %s is a wrong command line',
  async (output) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'talk.json'), '[]');
    execFileSync('ln', ['talk.json', 'link.json'], { cwd });
    const { code, stderr } = await runBuilt(
      ['chat', 'x', '--no-stdin', '--local', '--conversation', 'talk.json', '-o', output],
      {
        cwd,
      },
    );
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'svc: --conversation and -o name the same file, talk.json\n  choose another file with -o; the response is kept in the conversation as well\n',
    });
  },
);

it('a merge key in YAML is exit 3 with its place, in a payload too, and nothing is sent', async () => {
  const cwd = temporaryDirectory();
  const ids = 'project_id: a/b\nfeedback_id: f\nfeedback_type: t\nsvc_ref: svc:///a/b/object/o:1\n';
  writeFileSync(join(cwd, 'merged.yaml'), `${ids}payload:\n  base: &x {a: 1}\n  more:\n    <<: *x\n`);
  writeFileSync(join(cwd, 'quoted.yaml'), `${ids}payload:\n  base: &x a\n  more: {"<<": 1, *x : 2}\n`);
  const replace = ['feedback', 'replace', '--local', '--jq', '.payload', '-f'];
  const { code, stdout, stderr } = await runBuilt([...replace, 'merged.yaml'], { cwd });
  expect([code, stdout]).toEqual([3, '']);
  expect(stderr).toContain('merged.yaml:8:5: invalid YAML body: << is a merge key; write the fields out');
  const quoted = await runBuilt([...replace, 'quoted.yaml'], { cwd });
  expect(quoted).toMatchObject({ code: 0, stdout: '{"base":"a","more":{"<<":1,"a":2}}\n' });
});
