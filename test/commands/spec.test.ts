import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { allOperations } from '../../src/operations/all-operations.ts';
import { svc } from '../support/svc.ts';

const names = allOperations.map((operation) => ({
  operation,
  words: [...operation.command],
  name: operation.command.join(' '),
}));

describe('svc spec', () => {
  it.each(names)('$name: a schema that a validator takes, of body and reply', async ({ operation, words }) => {
    for (const [flags, fields] of [
      [[], operation.body],
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

  it('tells 64-bit bounds digit for digit, defaults, enums, what is read-only and deprecated', async () => {
    const { stdout } = await svc(['spec', 'chat']);
    expect(stdout).toContain('"minimum": -9223372036854776000');
    const { properties } = JSON.parse(stdout);
    expect(properties.max_tokens.deprecated).toBe(true);
    expect(properties.reasoning_effort.enum).toEqual(['low', 'medium', 'high', null]);
    expect(properties.parallel_tool_calls).toMatchObject({ type: ['boolean', 'null'], default: true });
    const replace = JSON.parse((await svc(['spec', 'feedback', 'replace'])).stdout);
    expect(replace.properties.svc_user_id).toMatchObject({ readOnly: true });
    expect(replace.required).toEqual(['feedback_id', 'feedback_type', 'payload', 'project_id', 'svc_ref']);
  });

  it.each(names)(
    '$name --skeleton: a body with every field, the required ones first, that passes',
    async ({ operation, words }) => {
      const { stdout } = await svc(['spec', ...words, '--skeleton']);
      const skeleton = JSON.parse(stdout);
      const settable = Object.entries(operation.body).filter(([, field]) => !field.filledByService);
      const required = settable.filter(([, field]) => field.required).map(([name]) => name);
      expect(Object.keys(skeleton).sort()).toEqual(settable.map(([name]) => name).sort());
      expect(Object.keys(skeleton).slice(0, required.length)).toEqual(required);
      expect((await svc([...words, '-f', '-', '--dry-run', '--exact'], { stdin: stdout })).code).toBe(0);
    },
  );

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

  it.each([[[]], [['chat', 'x']], [['nothing']], [['chat', '--reply', '--skeleton']], [['chat', '--openapi']]])(
    '%j is a wrong command line',
    async (args) => {
      expect(await svc(['spec', ...args])).toMatchObject({ code: 2, stdout: '' });
    },
  );
});
