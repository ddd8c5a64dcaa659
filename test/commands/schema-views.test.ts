import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import type { Send } from '../../src/http/message.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const env = { SVC_BASE_URL: 'https://svc.test', SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_RETRIES: '0' };
type Paths = readonly (readonly [path: string, type: string])[];
const paths: Paths = [
  ['n', 'numeric'],
  ['out.label', 'categorical'],
  ['out.ok', 'boolean'],
  ['out', 'numeric'],
  ['__proto__.x y', 'other'],
];

function schema(
  answered: Paths,
  flags: readonly string[],
  cwd = temporaryDirectory(),
  more: Record<string, string> = {},
) {
  let sent = 0;
  const body = JSON.stringify({ paths: answered.map(([json_path, value_type]) => ({ json_path, value_type })) });
  const send: Send = async () => {
    sent += 1;
    return {
      status: 200,
      statusText: '',
      headers: [['Content-Type', 'application/json']],
      body: (async function* () {
        yield Buffer.from(body);
      })(),
    };
  };
  const args = ['feedback', 'schema', '--project-id', 'a/b', '--since', '7d', ...flags];
  return svc(args, { cwd, env: { ...env, ...more }, send }).then((result): Result & { sent: number } => ({
    ...result,
    sent,
  }));
}

describe('--view', () => {
  const payloads: readonly [payload: unknown, isValid: boolean][] = [
    [{}, true],
    [{ n: 1, out: { label: 'x', ok: true } }, true],
    [{ n: 1.5, out: 2 }, true],
    [JSON.parse('{"__proto__":{"x y":[1]}}'), true],
    [{ n: '1' }, false],
    [{ out: { ok: 'no' } }, false],
  ];

  it('json-schema is a JSON Schema that accepts the payloads and rejects others', async () => {
    const { stdout } = await schema(paths, ['--view', 'json-schema']);
    const validate = new Ajv2020().compile(JSON.parse(stdout));
    for (const [payload, isValid] of payloads) expect(validate(payload), JSON.stringify(payload)).toBe(isValid);
  });

  it('typescript and tree nest the paths, one key per line', async () => {
    expect((await schema(paths, ['--view', 'typescript'])).stdout).toBe(
      'export interface Payload {\n  n?: number;\n  out?: number | {\n    label?: string;\n    ok?: boolean;\n  };\n  __proto__?: {\n    "x y"?: unknown;\n  };\n}\n',
    );
    expect((await schema(paths, ['--view', 'tree'])).stdout).toBe(
      'n: numeric\nout: numeric\n  label: categorical\n  ok: boolean\n__proto__\n  "x y": other\n',
    );
    expect((await schema(paths, ['--view', 'table'])).stdout).toMatch(/^JSON_PATH +VALUE_TYPE\nn +numeric\n/);
  });

  it('of an empty and of a very deep schema is valid', async () => {
    for (const view of ['table', 'tree'])
      expect(await schema([], ['--view', view])).toMatchObject({
        stdout: '',
        stderr: 'svc: the service returned no paths\n',
      });
    expect((await schema([], ['--view', 'typescript'])).stdout).toBe('export interface Payload {\n}\n');
    const deep = Array(200_000).fill('a').join('.');
    for (const view of ['tree', 'json-schema', 'typescript'])
      expect((await schema([[deep, 'numeric']], ['--view', view])).code).toBe(0);
  });

  it('contradicts formats', async () => {
    for (const flags of [['--json'], ['--jq', '.'], ['--format', 'csv'], ['--dry-run']])
      expect((await schema(paths, ['--view', 'typescript', ...flags])).code).toBe(2);
  });
});

describe('--expect', () => {
  it('writes with --update, passes, and lists the drift with exit 13', async () => {
    const cwd = temporaryDirectory();
    expect(await schema(paths, ['--expect', 'schema.json', '--update'], cwd)).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(join(cwd, 'schema.json'), 'utf8')).paths).toHaveLength(paths.length);
    const type = ['--feedback-type', 'rating'];
    const reversed = await schema([...paths].reverse(), ['--expect', 'schema.json', ...type], cwd);
    expect(reversed).toMatchObject({ code: 0, stderr: '' });
    const changed: Paths = [['n', 'categorical'], ...paths.slice(2), ['new', 'boolean']];
    const { code, stdout, stderr } = await schema(changed, ['--expect', 'schema.json', '-q', ...type], cwd);
    expect(code).toBe(13);
    expect(JSON.parse(stdout).paths).toHaveLength(5);
    // Nothing about an outcome: the request only reads.
    expect(stderr).toMatch(
      /^svc: the feedback schema changed: 3 paths differ from schema\.json\n {2}n: numeric -> categorical \(changed type\)\n {2}new: boolean \(added\)\n {2}out\.label: categorical \(removed\)\n {2}if this is intended: --expect schema\.json --update\n$/,
    );
  });

  it('names the paths that differ in the JSON error and the summary', async () => {
    const cwd = temporaryDirectory();
    await schema(paths, ['--expect', 'schema.json', '--update'], cwd);
    const files = ['--summary', 'summary.md', '--error-format', 'json', '-q'];
    const { stderr } = await schema(paths.slice(1), ['--expect', 'schema.json', '--feedback-type', 't', ...files], cwd);
    const [path = '', type = ''] = paths[0] ?? [];
    const issue = { path, message: `${type} (removed)` };
    expect(JSON.parse(stderr).error).toMatchObject({ cause: 'expectation', issues: [issue] });
    expect(readFileSync(join(cwd, 'summary.md'), 'utf8')).toContain(`; ${path}: ${issue.message}`);
  });

  it('says that no feedback was found, which is no change of a schema', async () => {
    const cwd = temporaryDirectory();
    await schema(paths, ['--expect', 'schema.json', '--update'], cwd);
    const type = ['--feedback-type', 'rating', '-q'];
    const none = await schema([], ['--expect', 'schema.json', ...type], cwd);
    expect(none).toMatchObject({
      code: 13,
      stderr: expect.stringMatching(
        /^svc: no feedback was found, so there is no schema .*\n {2}check --project-id, .*\n$/,
      ),
    });
    const saved = await schema([], ['--expect', 'schema.json', '--update', ...type], cwd);
    expect(saved).toMatchObject({ code: 13, stderr: none.stderr });
    expect(JSON.parse(readFileSync(join(cwd, 'schema.json'), 'utf8')).paths).toHaveLength(paths.length);
  });

  it.each([
    ['nothing', [], true],
    ['a null', ['--set', 'trigger_ref:=null'], true],
    ['another filter', ['--sample-limit', '5'], true],
    ['a type', ['--feedback-type', 'rating'], false],
    ['a monitor', ['--trigger-ref', 'svc:///a/b/object/monitor:*'], false],
    ['a field of the body', ['-f', 'body.json'], false],
  ] as const)(
    'warns before sending that a schema with %s depends on the newest feedback',
    async (_, flags, isWarned) => {
      const cwd = temporaryDirectory();
      writeFileSync(join(cwd, 'body.json'), '{"feedback_type":"rating"}');
      const update = ['--expect', 'schema.json', '--update', ...flags];
      const { code, stderr, sent } = await schema(paths, [...update, '--strict'], cwd);
      expect({ code, sent }).toEqual(isWarned ? { code: 3, sent: 0 } : { code: 0, sent: 1 });
      expect(stderr.includes('add --feedback-type or --trigger-ref')).toBe(isWarned);
      for (const expected of [update, update.filter((flag) => flag !== '--update')])
        expect((await schema(paths, expected, cwd)).stderr.includes('warning: with --expect')).toBe(isWarned);
      const drift = await schema([['new', 'numeric']], [...update.filter((flag) => flag !== '--update'), '-q'], cwd);
      expect([drift.code, drift.stderr.includes('add --feedback-type')]).toEqual([13, isWarned]);
      expect((await schema(paths, flags, cwd)).stderr).toBe('');
    },
  );

  it('annotates on GitHub only', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'schema.json'), '{"paths":[]}');
    const github = { CI: 'true', GITHUB_ACTIONS: 'true' };
    const annotated = await schema([['a', 'numeric']], ['--expect', 'schema.json', '-q'], cwd, github);
    expect(annotated.stderr).toContain('::error file=schema.json,title=');
    expect(annotated.stderr).toContain('::a: numeric (added)\n');
    const plain = await schema([['a', 'numeric']], ['--expect', 'schema.json'], cwd, { CI: 'true' });
    expect(plain.stderr).not.toContain('::error');
  });

  it.each([
    ['a missing file', 'missing.json', undefined],
    ['a file that is not JSON', 'schema.json', 'paths'],
    ['a file of something else', 'schema.json', '[]'],
    ['a directory', '.', undefined],
  ])('sends nothing for %s', async (_, name, text) => {
    const cwd = temporaryDirectory();
    if (text !== undefined) writeFileSync(join(cwd, name), text);
    const { code, stderr, sent } = await schema(paths, ['--expect', name], cwd);
    expect({ code, sent }).toEqual({ code: 12, sent: 0 });
    expect(stderr).toContain(name);
  });

  it('sends nothing where -o would replace its file', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'F'), '{"paths":[]}');
    expect(await schema(paths, ['--expect', 'F', '-o', './F'], cwd)).toMatchObject({ code: 2, sent: 0 });
  });

  it('is needed by --update, as a file', async () => {
    expect(await schema(paths, ['--update'])).toMatchObject({ code: 2, sent: 0 });
    expect(await schema(paths, ['--expect', '-', '--update'])).toMatchObject({ code: 2, sent: 0 });
  });
});
