import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { httpAnswer, rawServer } from '../support/raw-server.ts';
import { svc } from '../support/svc.ts';

const body = {
  feedback_id: 'f-1',
  project_id: 'a/b',
  svc_ref: 'svc:///a/b/object/n:v1',
  feedback_type: 'rating',
  payload: {},
};
const kept = { ...body, id: 'f-1' };
const stored = httpAnswer('{"id":"f-1","created_at":"2026-01-01T00:00:00Z","payload":{},"svc_user_id":"u"}');

/** Replaces feedback; each request gets the next response, `undefined` closes the connection. */
async function replace(
  sent: object,
  responses: readonly (string | undefined)[],
  flags: readonly string[] = [],
  program: typeof runBuilt | typeof svc = svc,
): Promise<{ code: number | null; stderr: string; requests: number }> {
  const answers = responses.values();
  const { url, received } = await rawServer((socket) => {
    const answer = answers.next().value;
    if (answer === undefined) socket.destroy();
    else socket.end(answer);
  });
  const env = { SVC_BASE_URL: url, SVC_USERNAME: 'u', SVC_PASSWORD: 'p' };
  const result = await program(['feedback', 'replace', ...flags], { env, stdin: JSON.stringify(sent) });
  return { ...result, requests: received.length };
}

const errorOf = (stderr: string): unknown => JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error;

const unchanged = 'the old record is unchanged: correct the body and run it again';
const mayBeDeleted = 'the old record may be deleted: correct the body and run it again with the same ids';

const onTerminal: typeof svc = (args, setting) => svc(args, { ...setting, terminal: true });

it.each([
  [body, [], onTerminal, 'svc: the record has a new id, f-2; to keep f-1, add --keep-id\n'],
  [body, [], svc, ''],
  [body, ['-q'], onTerminal, ''],
  [{ ...body, feedback_id: 'f-2' }, [], onTerminal, ''],
])('%j with %j at a terminal alone notes a new id', async (sent, flags, program, note) => {
  const { code, stderr } = await replace(sent, [stored.replace('f-1', 'f-2')], flags, program);
  expect([code, stderr]).toEqual([0, note]);
});

describe('a server that deletes the old record before its last checks', () => {
  it.each([
    ['400', '400 Bad Request', { code: 'refused', exit_code: 5, applied: 'unknown', hint: mayBeDeleted }],
    ['403', '403 Forbidden', { code: 'credentials', applied: 'no' }],
    ['429', '429 Too Many Requests', { code: 'rate_limited', applied: 'no' }],
    [
      '500',
      '500 Internal Server Error',
      { code: 'failed', applied: 'unknown', hint: expect.stringMatching(/^the old record may be deleted; /) },
    ],
    ['503 with Retry-After', '503 Service Unavailable', { code: 'failed', exit_code: 6, applied: 'unknown' }],
    [
      '502',
      '502 Bad Gateway',
      {
        code: 'unknown',
        applied: 'unknown',
        message: expect.stringContaining('; the request may have been applied, or only have deleted the old record'),
      },
    ],
    [
      'a lost response',
      undefined,
      { code: 'unknown', applied: 'unknown', hint: expect.stringMatching(/^the old record may be deleted; /) },
    ],
  ])('%s', async (name, status, error) => {
    const headers = name === '503 with Retry-After' ? 'Retry-After: 1\r\n' : '';
    const answer = status && httpAnswer('{"detail":"no"}', status, headers);
    const { stderr } = await replace(kept, [answer], ['--retries', '0', '--error-format', 'json']);
    expect(errorOf(stderr)).toMatchObject(error);
  });

  const lost = { code: 'refused', exit_code: 5, applied: 'unknown', hint: mayBeDeleted };
  const kept405 = { code: 'refused', exit_code: 5, applied: 'no', hint: expect.stringMatching(/with the same ids$/) };
  it.each([
    ['422', '{"detail":[{"loc":["body","payload"],"msg":"no"}]}', { ...lost, applied: 'no', hint: unchanged }],
    ['422', '{"detail":"no"}', lost],
    ['422', '{"detail":[{"loc":["body"],"msg":"no"},{"msg":"no"}]}', lost],
    ['422', '{"detail":[]}', lost],
    ['404', '{"missing_object_digests":["x"],"reason":"gone"}', lost],
    ['404', '{"detail":"Not Found"}', kept405],
    ['404', ' {"detail" : "Not Found"}\n', kept405],
    ['404', '<!doctype html><title>404</title>', kept405],
    ['404', '{"detail":"Not Found","id":"f-1"}', lost],
    ['404', '{"detail":"Not found"}', lost],
    ['404', '{"detail":"Method Not Allowed"}', lost],
    ['404', '', lost],
    ['405', '{"detail":"Method Not Allowed"}', kept405],
    ['405', '{"detail":"Not Found"}', lost],
    ['413', '{"detail":"no"}', { code: 'refused', applied: 'no' }],
    ['415', '{"detail":"no"}', { code: 'refused', applied: 'no' }],
    ['408', '{"detail":"no"}', { code: 'rate_limited', applied: 'no' }],
    ['425', '{"detail":"no"}', { code: 'rate_limited', exit_code: 9, applied: 'no' }],
    ['409', '{"detail":"no"}', lost],
    ['402', '{"detail":"no"}', lost],
  ])('%s with %s', async (status, text, error) => {
    const { stderr } = await replace(
      kept,
      [httpAnswer(text, `${status} X`)],
      ['--retries', '0', '--error-format', 'json'],
    );
    expect(errorOf(stderr)).toMatchObject(error);
  });

  it('a 400 of another operation was not applied', async () => {
    const { url } = await rawServer((socket) => socket.end(httpAnswer('{"detail":"no"}', '400 Bad Request')));
    const env = { SVC_BASE_URL: url, SVC_USERNAME: 'u', SVC_PASSWORD: 'p' };
    const flags = ['--project-id', 'a/b', '--op-name', 'x', '--error-format', 'json'];
    expect(errorOf((await runBuilt(['call', 'start', ...flags], { env })).stderr)).toMatchObject({ applied: 'no' });
  });

  it('the local service checks first', async () => {
    const payload = { text: 'x'.repeat(1024 * 1024) };
    const { stderr } = await runBuilt(['feedback', 'replace', '--local', '--error-format', 'json'], {
      stdin: JSON.stringify({ ...kept, payload }),
    });
    expect(errorOf(stderr)).toMatchObject({ status: 400, applied: 'no', hint: unchanged });
  });
});

describe('only a replacement with the id of the old record is safe to retry', () => {
  it.each([
    ['the same id', kept, 2],
    ['another id', { ...body, id: 'f-2' }, 1],
    ['no id', body, 1],
  ])('%s, after a lost response', async (_, sent, requests) => {
    const result = await replace(sent, [undefined, stored], [], runBuilt);
    expect([result.requests, result.code]).toEqual([requests, requests === 2 ? 0 : 8]);
  });
});

const project = 'svc:///a/b';
const op = `${project}/op/n:v`;
const call = `${project}/call/c`;
const typed = (feedback_type: string, more: object = {}): object => ({ ...kept, feedback_type, ...more });
const annotated = (more: object): object =>
  typed('wandb.annotation.n', { annotation_ref: `${project}/object/n:v`, payload: { value: null }, ...more });
const run1 = (more: object): object =>
  typed('wandb.runnable.n', { runnable_ref: op, call_ref: call, payload: { output: null }, ...more });
const monitored = { runnable_ref: op, call_ref: call, trigger_ref: `${project}/object/m:v` };
const turned = (more: object): object =>
  typed('wandb.agent_user_feedback', { scorer_tags: ['good'], svc_ref: `${project}/agent_turn/t`, ...more });
const talked = (more: object): object => ({ ...turned(more), svc_ref: `${project}/agent_conversation/c` });

// What one trace server rejects after it has deleted the old record (docs/internals/servers.md).
const rejectedLate: readonly (readonly [body: object, message: RegExp])[] = [
  [typed('wandb.annotation'), /feedback_type: must have a name after wandb\.annotation/],
  [typed('wandb.annotations'), /feedback_type: must have a name/],
  [typed('wandb.runnable'), /feedback_type: must have a name after wandb\.runnable/],
  [annotated({ annotation_ref: null }), /annotation_ref: is required for feedback_type wandb\.annotation/],
  [annotated({ annotation_ref: `${project}/object/other:v` }), /annotation_ref: must refer to n, the name/],
  [annotated({ payload: {} }), /payload\.value: is required/],
  [run1({ runnable_ref: null }), /runnable_ref: is required/],
  [run1({ runnable_ref: `${project}/op/other:v` }), /runnable_ref: must refer to n/],
  [run1({ call_ref: null }), /call_ref: is required when runnable_ref is an op ref/],
  [run1({ payload: {} }), /payload\.output: is required/],
  ...(['runnable_ref', 'call_ref', 'trigger_ref'] as const).map(
    (name) =>
      [typed('wandb.agent_monitor', { ...monitored, [name]: null }), new RegExp(`${name}: is required`)] as const,
  ),
  [typed('wandb.agent_user_feedback'), /scorer_tags: is required/],
  [turned({ scorer_tags: [] }), /scorer_tags: is required/],
  [typed('wandb.reaction.1'), /payload\.emoji: is required/],
  [typed('wandb.reaction.1', { payload: { emoji: '👍👍' } }), /payload\.emoji: must be exactly one emoji/],
  [typed('wandb.reaction.1', { payload: { emoji: 'x' } }), /payload\.emoji: must be exactly one emoji/],
  [typed('wandb.note.1', { payload: { note: '' } }), /payload\.note: must be a string of 1 to 1,024/],
  [typed('wandb.note.1', { payload: { note: 'x'.repeat(1025) } }), /payload\.note: must be a string of 1 to 1,024/],
  [typed('wandb.note.1', { payload: { note: 7 } }), /payload\.note: must be a string/],
  [
    typed('x', { annotation_ref: `${project}/object/n:v` }),
    /annotation_ref: is only for feedback_type wandb\.annotation/,
  ],
  [typed('x', { runnable_ref: op }), /runnable_ref: is only for feedback_type wandb\.runnable, /],
  [typed('x', { call_ref: call }), /call_ref: is only for/],
  [typed('x', { trigger_ref: `${project}/object/m:v` }), /trigger_ref: is only for/],
  [typed('x', { scorer_tags: ['a'] }), /scorer_tags: is only for feedback_type .*wandb\.agent_user_feedback/],
  [typed('x', { scorer_ratings: { a: 1 } }), /scorer_ratings: is only for/],
  [
    annotated({ annotation_ref: 'svc:///a/other/object/n:v' }),
    /annotation_ref: is a ref of a\/other, not of the project/,
  ],
  [run1({ runnable_ref: 'svc:///other/b/op/n:v' }), /runnable_ref: is a ref of other\/b/],
  [run1({ call_ref: 'svc:///a/other/call/c' }), /call_ref: is a ref of a\/other/],
  [run1({ trigger_ref: 'svc:///a/other/object/m:v' }), /trigger_ref: is a ref of a\/other/],
  [talked({ span_trace_id: 't' }), /span_trace_id: must be absent if svc_ref is a conversation/],
  [talked({ span_conversation_id: 'other' }), /span_conversation_id: must be c, the id in svc_ref/],
  [turned({ span_trace_id: 'other' }), /span_trace_id: must be t, the id in svc_ref/],
  [typed('x', { payload: { text: 'é'.repeat(174_761) } }), /payload: is longer than 1,048,576 characters/],
  [typed('x', { payload: { list: Array(349_523).fill(1) } }), /payload: is longer than 1,048,576 characters/],
];

describe('what the server rejects after the deletion is announced before sending', () => {
  it.each(rejectedLate.map(([sent, message]) => [message, sent] as const))('%s', async (message, sent) => {
    const records = new Set(['f-1']);
    const { url } = await rawServer((socket) => {
      records.delete('f-1');
      socket.end(httpAnswer('{"reason":"no"}', '400 Bad Request'));
    });
    const setting = { env: { SVC_BASE_URL: url, SVC_USERNAME: 'u', SVC_PASSWORD: 'p' }, stdin: JSON.stringify(sent) };
    const strict = await svc(['feedback', 'replace', '--strict'], setting);
    expect(strict.stderr).toMatch(message);
    expect([strict.code, ...records]).toEqual([3, 'f-1']);
    const { code, stderr } = await svc(['feedback', 'replace'], setting);
    const announced = stderr.split('\n').find((line) => line.startsWith('svc: warning: ') && message.test(line));
    expect(announced).toMatch(/; one server deletes the old record before it rejects this$/);
    expect([code, ...records]).toEqual([5]);
    expect(stderr).toContain(`  ${mayBeDeleted}\n`);
  });

  it.each<[string, object]>([
    ['a free type', kept],
    ['an annotation', annotated({})],
    ['a runnable', run1({ trigger_ref: monitored.trigger_ref })],
    ['a monitor', typed('wandb.agent_monitor', monitored)],
    ['user feedback on a turn', turned({ span_trace_id: 't' })],
    ['user feedback on a conversation', talked({ span_conversation_id: 'c' })],
    ...['👍', '👍🏽', '👩‍👩‍👧', '🇩🇪', '1️⃣', '❤'].map((emoji): [string, object] => [
      `the reaction ${emoji}`,
      typed('wandb.reaction.1', { payload: { emoji } }),
    ]),
    ['a note', typed('wandb.note.1', { payload: { note: '😀'.repeat(1024) } })],
    ['the largest text', typed('x', { payload: { text: 'é'.repeat(174_760) } })],
    ['the largest array', typed('x', { payload: { list: Array(349_522).fill(1) } })],
  ])('%s needs no warning', async (_, sent) => {
    const { stderr } = await replace(sent, [stored], ['--strict', '--quiet']);
    // Refs of other kinds than the interface lists have a warning of their own.
    expect(stderr.split('\n').filter((line) => !/svc_ref: should be|^svc: the body is invalid/.test(line))).toEqual([
      '',
    ]);
  });
});

it.each(['note', 'reaction'])('the warning about an empty %s says what takes it back on every server', async (kind) => {
  const record = typed(`wandb.${kind}.1`, { payload: {} });
  const { stderr } = await replace(record, [stored], []);
  const [, type = '', payload = ''] =
    /to take it back, replace it with feedback_type "(\w+)" and payload (\S+);/.exec(stderr) ?? [];
  const advised = await replace(
    { ...record, ...typed(type, { payload: JSON.parse(payload) }) },
    [stored],
    ['--strict'],
  );
  expect(advised.stderr).toBe('');
});
