import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/json/parse-json.ts';
import { createTraceContext, readTraceParent, traceEnvironment, traceExports } from '../../src/trace/trace-context.ts';
import { answering, serviceEnv } from '../support/service.ts';
import { svc } from '../support/svc.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

describe('the parent in TRACEPARENT', () => {
  it.each([
    ['version 00', `00-${traceId}-${spanId}-01`, { traceId, spanId, flags: '01' }],
    ['flags of its own', `00-${traceId}-${spanId}-00`, { traceId, spanId, flags: '00' }],
    ['a later version with more fields', `cc-${traceId}-${spanId}-01-what-comes`, { traceId, spanId, flags: '01' }],
    ['version 00 with more fields', `00-${traceId}-${spanId}-01-more`, undefined],
    ['version ff', `ff-${traceId}-${spanId}-01`, undefined],
    ['upper case', `00-${traceId.toUpperCase()}-${spanId}-01`, undefined],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`, undefined],
    ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`, undefined],
    ['a short trace id', `00-${traceId.slice(1)}-${spanId}-01`, undefined],
    ['nothing', '', undefined],
    ['text', 'no', undefined],
  ])('is read from %s', (_, TRACEPARENT, parent) => {
    expect(readTraceParent({ TRACEPARENT })).toEqual(parent);
  });

  it.each([
    [
      [],
      'svc: TRACEPARENT is not valid and is ignored: "no"; its form is 00-<32 hex digits>-<16 hex digits>-01, or unset it\n',
    ],
    [['--quiet'], ''],
  ])('is a note with %j if it is invalid', async (flags, warning) => {
    const args = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x', '--dry-run', ...flags];
    const { stderr } = await svc(args, { env: { ...serviceEnv, TRACEPARENT: 'no' } });
    expect(stderr.slice(0, stderr.indexOf('POST '))).toBe(warning);
  });
});

describe('the ids of a call', () => {
  it('are those of a new trace without a parent', () => {
    const randomBytes = (count: number): Uint8Array => new Uint8Array(count).fill(0xab);
    expect(createTraceContext(undefined, { randomBytes })).toEqual({
      traceId: 'ab'.repeat(16),
      callId: 'ab'.repeat(8),
      parentId: undefined,
      flags: '01',
    });
  });

  it('are in the trace of the parent, with its flags, and reach the child', () => {
    const randomBytes = (count: number): Uint8Array => new Uint8Array(count).fill(1);
    const context = createTraceContext({ traceId, spanId, flags: '00' }, { randomBytes });
    expect(context).toEqual({ traceId, callId: '01'.repeat(8), parentId: spanId, flags: '00' });
    expect(traceEnvironment(context, 'acme/bot')).toEqual({
      TRACEPARENT: `00-${traceId}-${'01'.repeat(8)}-00`,
      SVC_TRACE_ID: traceId,
      SVC_CALL_ID: '01'.repeat(8),
      SVC_PROJECT_ID: 'acme/bot',
    });
  });

  it.each([
    ['its own', traceId, '00'],
    ['a new', '1'.repeat(32), '01'],
  ])('are exported with the flags of the parent in %s trace only', (_, trace_id, flags) => {
    const exports = traceExports({ TRACEPARENT: `00-${traceId}-${spanId}-00` }, { ids: {}, projectId: 'a/b' });
    const response = parseJson(Buffer.from(JSON.stringify({ id: spanId, trace_id })));
    expect(exports(response)).toContain(`export TRACEPARENT='00-${trace_id}-${spanId}-${flags}'`);
  });

  it.each([
    [
      'as they were sent, also without those of the response',
      ['--trace-id', traceId, '--id', spanId],
      '{"id":5}',
      traceId,
    ],
    [
      'as they were sent, also beside others',
      ['--trace-id', traceId, '--id', spanId],
      '{"id":"1","trace_id":"2"}',
      traceId,
    ],
    [
      'as they were received, where none was sent',
      ['--parent-id', '1'.repeat(16), '--id', spanId],
      '{"id":"1","trace_id":"2"}',
      '2',
    ],
  ])('are exported %s', async (_, ids, response, trace) => {
    const flags = ['--project-id', 'a/b', '--op-name', 'x', '--export', ...ids];
    const { code, stdout } = await svc(['call', 'start', ...flags], {
      env: serviceEnv,
      send: answering(response).send,
    });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        `export SVC_TRACE_ID='${trace}'\nexport SVC_CALL_ID='${spanId}'\nexport SVC_PROJECT_ID='a/b'\n$`,
      ),
    });
  });

  it.each([
    ['another trace', ['--trace-id', '1'.repeat(32)]],
    ['another parent', ['--parent-id', '1'.repeat(16), '--trace-id', '1'.repeat(32)]],
  ])('have the shape of TRACEPARENT in %s, so that children continue it', async (_, ids) => {
    const flags = ['--project-id', 'a/b', '--op-name', 'x', '--export', ...ids];
    const env = { ...serviceEnv, TRACEPARENT: `00-${traceId}-${spanId}-01` };
    const { stdout } = await svc(['call', 'start', ...flags], {
      env,
      send: answering('{"id":"1","trace_id":"2"}').send,
    });
    const [, id] = /^export SVC_CALL_ID='([0-9a-f]{16})'$/m.exec(stdout) ?? [];
    expect(stdout).toContain(`export TRACEPARENT='00-${'1'.repeat(32)}-${id}-01'\n`);
  });

  it('are not exported where one is unknown', async () => {
    const flags = ['--project-id', 'a/b', '--op-name', 'x', '--export', '--parent-id', spanId];
    const { send } = answering('{"id":"1"}');
    const { code, stdout, stderr } = await svc(['call', 'start', ...flags], { env: serviceEnv, send });
    expect({ code, stdout }).toEqual({ code: 11, stdout: '' });
    expect(stderr).toContain('neither the request nor the response has trace_id\n');
    expect(stderr).toContain('  the request was applied\n');
  });

  it('replace an outer TRACEPARENT also where they do not have its shape', () => {
    const exports = traceExports({ TRACEPARENT: `00-${traceId}-${spanId}-01` }, { ids: {}, projectId: undefined });
    const id = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e07';
    const response = parseJson(Buffer.from(JSON.stringify({ id, trace_id: "it's" })));
    expect(exports(response).split('\n')).toEqual([
      'unset TRACEPARENT',
      "export SVC_TRACE_ID='it'\\''s'",
      `export SVC_CALL_ID='${id}'`,
      '',
    ]);
  });

  it('cannot be exported and filtered with jq', async () => {
    const flags = ['--project-id', 'a/b', '--op-name', 'x', '--export', '--jq', '.id'];
    expect(await svc(['call', 'start', '--local', ...flags])).toMatchObject({ code: 2, stdout: '' });
  });
});
