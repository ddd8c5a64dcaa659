import { chmodSync, chownSync, lchownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inShell } from '../support/process.ts';
import { type Setting, svc, temporaryDirectory } from '../support/svc.ts';

const call = ['call', 'start', '--op-name', 'x', '--dry-run', '-q'];

/** A directory below one that holds a `.svc.json`. */
function below(content: string): string {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, '.svc.json'), content);
  mkdirSync(join(cwd, 'a', 'b'), { recursive: true });
  return join(cwd, 'a', 'b');
}

async function project(cwd: string, setting: Setting = {}): Promise<unknown> {
  const { stdout, code, stderr } = await svc(call, { ...setting, cwd });
  expect(stderr + code).toBe('0');
  return JSON.parse(stdout).start.project_id;
}

describe('a .svc.json', () => {
  it('is found in parent directories and sets project and model', async () => {
    const cwd = below('{"project_id":"repo/one","model":"m-1"}');
    expect(await project(cwd)).toBe('repo/one');
    const chat = await svc(['chat', 'x', '--no-stdin', '--dry-run', '-q'], { cwd });
    expect(JSON.parse(chat.stdout)).toMatchObject({ model: 'm-1' });
  });

  it('is used after flag and environment, and before the profile', async () => {
    const cwd = below('{"project_id":"repo/one"}');
    await svc(['profile', 'set', 'default', '--base-url', 'https://svc.test', '--project-id', 'profile/one'], { cwd });
    expect(await project(cwd)).toBe('repo/one');
    const config = join(cwd, 'config');
    expect(await project(cwd, { env: { SVC_CONFIG_DIR: config, SVC_PROJECT_ID: 'env/one' } })).toBe('env/one');
    expect(await project(cwd, { env: { SVC_CONFIG_DIR: config, SVC_NO_PROJECT_FILE: '1' } })).toBe('profile/one');
  });

  it('is named by svc doctor', async () => {
    const cwd = below('{"project_id":"repo/one"}');
    const { settings } = JSON.parse((await svc(['doctor', '--local', '--json'], { cwd })).stdout);
    expect(settings).toContainEqual({
      name: 'project_id',
      value: 'repo/one',
      source: join(cwd, '..', '..', '.svc.json'),
    });
  });

  it.each(['base_url', 'profile', 'token', 'headers', 'credential_command', 'cacert', 'timeout'])(
    'that sets %s is exit 2, and sets nothing',
    async (key) => {
      const cwd = below(JSON.stringify({ project_id: 'a/b', [key]: 'https://evil.test' }));
      const result = await svc(call, { cwd });
      expect(result).toMatchObject({ code: 2, stdout: '' });
      expect(result.stderr).toContain(`.svc.json cannot set "${key}"`);
      expect(result.stderr).toContain('SVC_NO_PROJECT_FILE=1');
      expect(result.stderr).not.toContain('evil');
    },
  );

  it('may begin with a byte order mark', async () => {
    expect(await project(below('\ufeff{"project_id":"repo/one"}'))).toBe('repo/one');
  });

  it.each([
    ['[1]', 2, 'is not a JSON object'],
    ['{', 2, '.svc.json:1:2 is not valid JSON: unexpected end'],
    ['{\n  "model": }', 2, '.svc.json:2:12 is not valid JSON: expected a value'],
    ['{"model":1}', 2, 'must be a string'],
    [`{"model":"${'x'.repeat(65536)}"}`, 12, 'larger than 64 KiB'],
  ])('that is %.12s is an error', async (content, code, message) => {
    const result = await svc(call, { cwd: below(content) });
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
  });

  it('is not read with --exact or for a body without a project', async () => {
    const cwd = below('{');
    expect((await svc([...call, '--exact', '--no-check'], { cwd })).code).toBe(0);
  });
});

describe.skipIf(process.getuid?.() !== 0)('a .svc.json that others could have written', () => {
  const NOBODY = 54321;
  const OTHER = 54322;

  interface Tree {
    readonly user?: 'svc' | 'asNobody';
    readonly isInParent?: boolean;
    readonly owner?: number;
    readonly linkOwner?: number;
    readonly cwdOwner?: number;
    readonly mode?: number;
    readonly directoryMode?: number;
  }

  /** The project of a request, what svc reports on stderr, and the report of `svc doctor`. */
  async function projectIn(tree: Tree): Promise<Record<'project' | 'stderr' | 'doctor', string | undefined>> {
    const { user = 'svc', isInParent = true, owner = 0, linkOwner, cwdOwner = 0, mode = 0o644, directoryMode } = tree;
    const deepest = below('{"project_id":"found/one"}');
    const parent = join(deepest, '..', '..');
    const file = join(parent, '.svc.json');
    const cwd = isInParent ? deepest : parent;
    chownSync(file, owner, owner);
    chmodSync(file, mode);
    if (linkOwner !== undefined) {
      renameSync(file, `${file}.target`);
      symlinkSync(`${file}.target`, file);
      lchownSync(file, linkOwner, linkOwner);
    }
    chownSync(cwd, cwdOwner, cwdOwner);
    chmodSync(parent, directoryMode ?? 0o755);
    const { stdout, stderr } = await inShell(`${user} call start --op-name x --dry-run`, { cwd });
    const doctor = await inShell(`${user} doctor --local --json`, { cwd });
    return { project: JSON.parse(stdout).start.project_id, stderr, doctor: doctor.stdout };
  }

  it.each<[string, string, Tree]>([
    ['with the mode 0666', 'everybody may write', { mode: 0o666, isInParent: false }],
    ['in a directory with the mode 0777', 'everybody may write', { directoryMode: 0o777, isInParent: false }],
    ['of another user, above', 'it belongs to another user (id 54322)', { owner: OTHER }],
    ['of another user, for a user who is not root', 'it belongs', { user: 'asNobody', owner: OTHER, cwdOwner: NOBODY }],
    ['that is a link of another user, above', 'it belongs to another user', { linkOwner: OTHER }],
  ])('is ignored with a warning: %s', async (_, reason, tree) => {
    const { project, stderr, doctor } = await projectIn(tree);
    expect(project).toBeUndefined();
    expect(stderr).toMatch(/^svc: warning: \/.*\/\.svc\.json is ignored: /m);
    expect(stderr).toContain(reason);
    expect(doctor).toContain('.svc.json is ignored');
  });

  it.each<[string, Tree]>([
    ['of another user, in the working directory', { owner: OTHER, isInParent: false }],
    ['of the owner of the working directory', { owner: OTHER, cwdOwner: OTHER }],
    ['of root, for another user', { user: 'asNobody', cwdOwner: NOBODY }],
    ['of the user', { user: 'asNobody', owner: NOBODY, cwdOwner: OTHER }],
  ])('is used: %s', async (_, tree) => {
    const { project, stderr } = await projectIn(tree);
    expect({ project, isIgnored: stderr?.includes('is ignored') }).toEqual({ project: 'found/one', isIgnored: false });
  });
});
