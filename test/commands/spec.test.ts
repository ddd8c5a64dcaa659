import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { allOperations } from '../../src/operations/all-operations.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const names = allOperations.map((operation) => ({
  operation,
  words: [...operation.command],
  name: operation.command.join(' '),
}));

describe('svc spec', () => {
  it.each(names)('$name: a schema of body and response that a validator accepts', async ({ operation, words }) => {
    for (const [flags, fields] of [
      [[], operation.body],
      [['--response'], operation.reply],
      [['--reply'], operation.reply],
    ] as const) {
      const { code, stdout } = await svc(['spec', ...words, ...flags]);
      expect(code).toBe(0);
      const schema = JSON.parse(stdout);
      expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema');
      expect(Object.keys(schema.properties)).toEqual(Object.keys(fields));
      new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);
    }
  });

  it('has 64-bit bounds digit for digit, defaults, enums, read-only and deprecated fields', async () => {
    const { stdout } = await svc(['spec', 'chat']);
    expect(stdout).toContain('"minimum": -9223372036854776000');
    const { properties } = JSON.parse(stdout);
    expect(properties.max_tokens.deprecated).toBe(true);
    expect(properties.reasoning_effort.anyOf).toEqual([
      { type: 'string', enum: ['low', 'medium', 'high'] },
      { type: 'null' },
    ]);
    expect(properties.parallel_tool_calls).toMatchObject({ type: ['boolean', 'null'], default: true });
    const replace = JSON.parse((await svc(['spec', 'feedback', 'replace'])).stdout);
    expect(replace.properties.svc_user_id).toMatchObject({ readOnly: true });
    expect(replace.required).toEqual(['feedback_id', 'feedback_type', 'payload', 'project_id', 'svc_ref']);
  });

  it.each(names)(
    '$name --skeleton: the smallest body, without a warning and accepted by the local service',
    async ({ operation, words }) => {
      const { stdout } = await svc(['spec', ...words, '--skeleton']);
      const required = Object.keys(operation.body).filter((name) => operation.body[name]?.required);
      expect(Object.keys(JSON.parse(stdout))).toEqual(required);
      const sent = await svc([...words, '--local', '--strict', '--exact', '--json'], { stdin: stdout });
      expect({ code: sent.code, stderr: sent.stderr }).toEqual({ code: 0, stderr: '' });
    },
  );

  it.each(names)('$name --skeleton=all: every field, and accepted as it is', async ({ operation, words }) => {
    const { stdout } = await svc(['spec', ...words, '--skeleton=all']);
    for (const [name, { isReadOnly }] of Object.entries(operation.body))
      expect([name, new RegExp(`^(?:# )?[ "]*${name}"?:`, 'm').test(stdout)]).toEqual([name, !isReadOnly]);
    if (operation.command[0] === 'train') return;
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'body.yaml'), stdout);
    const sent = await svc([...words, '-f', 'body.yaml', '--local', '--strict', '--exact', '--json'], { cwd });
    expect({ code: sent.code, stderr: sent.stderr }).toEqual({ code: 0, stderr: '' });
    // Without the signs of comments it is a body as well.
    writeFileSync(join(cwd, 'body.yaml'), stdout.replace(/^( *)# (?=\S+: |\S+:$|[ -])/gm, '$1'));
    expect((await svc([...words, '-f', 'body.yaml', '--dry-run', '--exact', '-q'], { cwd })).code).toBe(0);
  });

  it('train --skeleton can be trained on', async () => {
    const { stdout } = await svc(['spec', 'train', '--skeleton']);
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'job.json'), stdout);
    const { code, stderr } = await svc(['train', 'lint', '-f', 'job.json', '--fail-on', 'any'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('chat --skeleton does not show a secret field', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'salt'), 'sEcReT-salt-of-forty-three-characters-or-more');
    const { stdout, code } = await svc(['spec', 'chat', '--skeleton', '--cache-salt', '@salt'], { cwd });
    expect([code, stdout]).toEqual([0, expect.stringContaining('"cache_salt"')]);
    expect(stdout).not.toContain('sEcReT');
  });

  it('train --skeleton=all: JSONC with a comment above each field, a valid body without them', async () => {
    const { stdout } = await svc(['spec', 'train', '--skeleton=all']);
    const lines = stdout.split('\n');
    for (const name of ['model_id', 'trajectory_groups', 'trajectories', 'metrics', 'strict', 'epsilon_high'])
      expect(lines[lines.findIndex((line) => line.includes(`"${name}":`)) - 1]).toMatch(/^ *\/\/ [A-Z]/);
    const body = lines.filter((line) => !/^ *\/\//.test(line)).join('\n');
    const sent = await svc(['train', '-f', '-', '--local', '--strict', '--exact', '--json', '-q'], { stdin: body });
    expect({ code: sent.code, stderr: sent.stderr }).toEqual({ code: 0, stderr: '' });
    const json = await svc(['spec', 'train', '--skeleton=all', '--json']);
    expect(Object.keys(JSON.parse(json.stdout))).toEqual(Object.keys(JSON.parse(body)));
  });

  it('--skeleton=all --format yaml has the comments too', async () => {
    const { stdout } = await svc(['spec', 'call', 'start', '--skeleton=all']);
    expect(await svc(['spec', 'call', 'start', '--skeleton=all', '--format', 'yaml'])).toMatchObject({
      code: 0,
      stdout,
    });
  });

  it('--skeleton with flags: their fields in it', async () => {
    const { stdout } = await svc([
      ...['spec', 'chat', '--skeleton', '--temperature', '0.50', '-s', 'Be brief', '-m', 'x', '--set', 'n:=2'],
    ]);
    expect(JSON.parse(stdout)).toEqual({
      messages: [{ role: 'system', content: 'Be brief' }, expect.objectContaining({ role: 'user' })],
      model: 'x',
      temperature: 0.5,
      n: 2,
    });
    expect(stdout).toContain('0.50');
    const call = await svc(['spec', 'call', 'start', '--skeleton', '--op-name', 'x']);
    expect(JSON.parse(call.stdout).start.op_name).toBe('x');
    expect(await svc(['spec', 'chat', '--skeleton', '--seed', 'x'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('--seed: must be an integer'),
    });
  });

  it.each(names)('$name: descriptions name no forms that only flags have', async ({ words }) => {
    for (const args of [words, ['--openapi'], [...words, '--skeleton=all']]) {
      const { stdout } = await svc(['spec', ...args]);
      expect(stdout).not.toMatch(/--[a-z]|@file|\(repeatable\)|an age|not needed with/);
    }
  });

  it.each([
    [['feedback', 'replace', '--skeleton', '--project-id', 'bad'], '--project-id: must be'],
    [['chat', '--skeleton', '--n', '0', '--set', 'messages:=7'], '--set messages:1:1: must be an array'],
    [['call', 'start', '--skeleton', '--id', 'x'], '--id: should be a lowercase UUID'],
    [['chat', '--skeleton', '--top-logprobs', '2'], '--top-logprobs: needs logprobs'],
  ])('%j: names the values that are not valid, or that the service rejects', async (args, message) => {
    const { code, stdout, stderr } = await svc(['spec', ...args]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toContain(message);
  });

  it('--skeleton warns about other flags as their command does', async () => {
    const { code, stdout, stderr } = await svc(['spec', 'chat', '--skeleton', '--max-tokens', '5']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'svc: warning: --max-tokens: is deprecated; use --max-completion-tokens\n',
    });
    expect(JSON.parse(stdout).max_tokens).toBe(5);
  });

  it('--openapi has only forms that generators of clients read', async () => {
    const { stdout } = await svc(['spec', '--openapi']);
    const document: { paths: Record<string, { post: { responses: object } }> } = JSON.parse(stdout);
    for (const { post } of Object.values(document.paths)) {
      expect(Object.keys(post.responses)).toEqual(expect.arrayContaining(['200', '400', '422', 'default']));
      expect(Object.keys(post.responses).join(' ')).not.toMatch(/X/);
    }
    JSON.parse(stdout, (key, value) => {
      if (value?.enum) expect({ key, value }).toMatchObject({ key, value: { type: 'string' } });
      if (value?.deprecated) expect(value.description).toMatch(/ \(deprecated: use \w+\)$/);
      expect(key).not.toBe('minItems');
      return value;
    });
    expect(stdout).toMatch(/"description": "Role of the author: developer, system, user, assistant, tool or function"/);
  });

  it('--openapi: the whole interface, valid by an independent validator', async () => {
    const { code, stdout } = await svc(['spec', '--openapi']);
    expect(code).toBe(0);
    const document = JSON.parse(stdout);
    const validator = new Validator();
    expect(await validator.validate(document)).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    expect(Object.keys(document.paths)).toEqual(allOperations.map(({ path }) => path));
    for (const { path, auth } of allOperations) expect(document.paths[path].post.security).toEqual([{ [auth]: [] }]);
    expect(document.paths['/v1/preview/training-jobs'].post['x-preview']).toBe(true);
  });

  it.each([
    [[]],
    [['chat', 'x']],
    [['nothing']],
    [['chat', '--reply', '--skeleton']],
    [['chat', '--openapi']],
    [['chat', '--temperature', '1']],
    [['chat', '--skeleton=all', '--set', 'n:=2']],
  ])('%j is a wrong command line', async (args) => {
    expect(await svc(['spec', ...args])).toMatchObject({ code: 2, stdout: '' });
  });

  it.each([
    [['chat', '--reply', '--openapi'], '--response cannot be combined with --openapi'],
    [['chat', '--skeleton', 'all'], '--skeleton takes a value only after ='],
    [['--skeleton', 'all', 'feedback', 'replace'], '--skeleton takes a value only after ='],
    [['chat', 'all'], '"chat all" is not an operation'],
    [['chat', '--skeleton', '--seed', '4', '--trigger-ref', 'x'], '--trigger-ref is not a flag of svc chat'],
    [['all', '--skeleton', '--seed', '4'], '"all" is not an operation'],
  ])('%j says what is wrong', async (args, message) => {
    const { code, stderr } = await svc(['spec', ...args]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`svc: ${message}\n`) });
  });
});
