import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createArgumentRedactor } from '../../src/output/redaction.ts';
import { collectCallAttributes } from '../../src/trace/call-record.ts';
import { temporaryDirectory } from '../support/svc.ts';

const describeIn = (cwd: string, env = {}) => collectCallAttributes({ env, cwd }, [], createArgumentRedactor(env, []));

describe('the attributes of a traced command', () => {
  const repository = (): { git: (...words: string[]) => string; path: string } => {
    const path = join(temporaryDirectory(), 'repository');
    mkdirSync(path);
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b.test'];
    const git = (...words: string[]) =>
      execFileSync('git', ['-C', path, ...identity, ...words], { encoding: 'utf8' }).trim();
    git('init', '-q', '-b', 'topic/one');
    git('commit', '-q', '--allow-empty', '-m', 'x');
    return { git, path };
  };

  it('never wait for a FIFO in place of a file', async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, '.git'));
    execFileSync('mkfifo', [join(cwd, '.git/HEAD')]);
    expect(await describeIn(cwd)).toEqual({ 'process.working_directory': cwd });
  });

  it('name branch and commit, also of packed branches, worktrees and detached heads', async () => {
    const { git, path } = repository();
    const commit = git('rev-parse', 'HEAD');
    const expected = { 'vcs.ref.head.name': 'topic/one', 'vcs.ref.head.revision': commit };
    mkdirSync(join(path, 'a/b'), { recursive: true });
    expect(await describeIn(join(path, 'a/b'))).toMatchObject(expected);
    git('pack-refs', '--all');
    expect(await describeIn(path)).toMatchObject(expected);
    git('worktree', 'add', '-q', '-b', 'other', 'tree');
    git('commit', '-q', '--allow-empty', '-m', 'y');
    expect(await describeIn(join(path, 'tree'))).toMatchObject({ ...expected, 'vcs.ref.head.name': 'other' });
    git('checkout', '-q', '--detach');
    expect(await describeIn(path)).toEqual({
      'process.working_directory': path,
      'vcs.ref.head.revision': git('rev-parse', 'HEAD'),
    });
  });

  it('name the CI job, without user information of URLs', async () => {
    const env = {
      GITHUB_SERVER_URL: 'https://github.test',
      GITHUB_REPOSITORY: 'a/b',
      GITHUB_JOB: 'build',
      GITHUB_RUN_ID: '7',
    };
    expect(await describeIn('/', env)).toEqual({
      'process.working_directory': '/',
      'vcs.repository.url.full': 'https://github.test/a/b',
      'cicd.pipeline.task.name': 'build',
      'cicd.pipeline.run.id': '7',
    });
    expect(await describeIn('/', { BUILDKITE_REPO: 'https://u:p@h.test/r' })).toMatchObject({
      'vcs.repository.url.full': 'https://[redacted]@h.test/r',
    });
  });
});
