import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../support/built.ts';
import { type ProcessSetting, serve, start, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const demo = new URL('../demo', import.meta.url).pathname;
const model = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05';

describe('the built program against svc serve', () => {
  it('feedback: replaced from a file, flags and stdin, then its schema', async () => {
    const { env } = await serve();
    const setting = { env: { ...env, HOME: temporaryDirectory() }, cwd: demo };
    const first = await runBuilt(['feedback', 'replace', '-f', 'feedback.json'], setting);
    expect(first.code, first.stderr).toBe(0);
    expect(first.stdout).toContain('"reviewer_id":9007199254740993');
    const { id, created_at, svc_user_id } = JSON.parse(first.stdout);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(Date.parse(created_at)).toBeGreaterThan(0);
    expect(svc_user_id).toBe('ada');

    const flags = [
      '--project-id',
      'acme/support-bot',
      '--feedback-id',
      id,
      '--feedback-type',
      'rating',
      '--svc-ref',
      'svc:///acme/support-bot/call/c-1',
      '--trigger-ref',
      'svc:///acme/support-bot/object/monitor:v1',
    ];
    const second = await runBuilt(
      ['feedback', 'replace', ...flags, '--payload', '{"output":{"score":"high"}}', '--keep-id'],
      setting,
    );
    expect(JSON.parse(second.stdout)).toMatchObject({ id, payload: { output: { score: 'high' } } });
    const third = await runBuilt(['feedback', 'replace'], {
      ...setting,
      stdin: readFileSync(join(demo, 'feedback.json')),
    });
    expect(third.code).toBe(0);

    const schema = await runBuilt(
      ['feedback', 'schema', '--project-id', 'acme/support-bot', '--since', '1h', '--format', 'text'],
      setting,
    );
    expect(schema.stdout).toBe(
      'output.helpful\tboolean\noutput.labels\tcategorical\noutput.score\tcategorical\nreviewer_id\tnumeric\n',
    );
  });

  it('chat: text, piped text, a body, a schema, several choices, a conversation', async () => {
    const { env } = await serve();
    const cwd = temporaryDirectory();
    const setting = { env, cwd };
    const plain = await runBuilt(['chat', 'Name', 'a river'], setting);
    expect(plain.stdout).toBe(
      'You said "Name a river": 3 words. This is svc\'s built-in model; it is for tests, not a real one.\n',
    );
    expect(plain.stderr).toBe('reasoning:\nThe last message has 3 words; the seed is 0.\n\n');
    const piped = await runBuilt(['chat', 'Summarise', '--json'], { ...setting, stdin: 'a text\n' });
    expect(JSON.parse(piped.stdout).choices[0].message.content).toContain('Summarise a text');
    const body = await runBuilt(['chat', '--json'], {
      ...setting,
      stdin: '{"messages":[{"role":"user","content":"x"}],"seed":9007199254740993}',
    });
    expect(JSON.parse(body.stdout).choices[0].message.reasoning).toContain('9007199254740993');
    const shaped = await runBuilt(['chat', 'Where?', '--json-schema', `@${demo}/answer.schema.json`], setting);
    expect(JSON.parse(shaped.stdout)).toEqual({ city: '', days: 0 });
    const several = await runBuilt(['chat', 'x', '--n', '2', '-q'], setting);
    expect(several.stdout).toMatch(/^--- 1\nYou said .*\n--- 2\nYou said .*\n$/);

    const turn = (prompt: string) =>
      runBuilt(['chat', '--conversation', 'talk.json', '-s', 'Be brief', prompt], setting);
    expect((await turn('one')).code).toBe(0);
    expect((await turn('two')).code).toBe(0);
    const talk = JSON.parse(readFileSync(join(cwd, 'talk.json'), 'utf8'));
    expect(talk.map(({ role }: { role: string }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
    expect(talk[3].content).toBe('two');
  });

  it('train and call start: from files, flags and stdin', async () => {
    const { env } = await serve();
    const setting = { env: { ...env, HOME: temporaryDirectory(), SVC_DATA_DIR: temporaryDirectory() }, cwd: demo };
    for (const args of [
      ['groups.jsonl', '--model-id', model],
      ['--trajectory-groups', '@groups.jsonl', '--model-id', model, '--allow-duplicate'],
      ['-f', 'job.json'],
      ['-', '--model-id', model, '--allow-duplicate'],
    ]) {
      const { code, stdout, stderr } = await runBuilt(['train', ...args], {
        ...setting,
        stdin: readFileSync(join(demo, 'groups.jsonl')),
      });
      expect(code, stderr).toBe(0);
      expect(JSON.parse(stdout).id).toMatch(/-7/);
    }
    const call = await runBuilt(['call', 'start', '-f', 'call.json', '--id', '0123456789abcdef'], setting);
    expect(JSON.parse(call.stdout).id).toBe('0123456789abcdef');
    const again = await runBuilt(
      ['call', 'start', '-f', 'call.json', '--id', '0123456789abcdef', '--trace-id', JSON.parse(call.stdout).trace_id],
      setting,
    );
    expect(JSON.parse(again.stdout)).toEqual(JSON.parse(call.stdout));
  });

  it('exits with 4 for wrong and missing credentials, and never shows them', async () => {
    const { env } = await serve();
    const wrong = await runBuilt(['chat', 'x', '-v', '--error-format', 'json'], {
      env: { ...env, SVC_TOKEN: 'wrong-token-9' },
    });
    expect(wrong.code).toBe(4);
    expect(wrong.stderr).not.toContain('wrong-token-9');
    const last = wrong.stderr.trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(last).error).toMatchObject({
      code: 'credentials',
      exit_code: 4,
      status: 401,
      applied: 'no',
      attempts: 1,
      retryable: false,
    });
    const none = await runBuilt(['chat', 'x'], { env: { SVC_BASE_URL: env.SVC_BASE_URL ?? '' } });
    expect({ code: none.code, stdout: none.stdout }).toEqual({ code: 4, stdout: '' });
  });
});

describe('without a network', () => {
  it.each([
    [
      'http://127.0.0.1:9',
      /could not connect to http:\/\/127\.0\.0\.1:9: connection refused\n {2}check SVC_BASE_URL, or run: svc doctor --base-url http:\/\/127\.0\.0\.1:9\n/,
    ],
    ['https://name.invalid', /host not found|name resolution failed/],
  ])('%s is exit 7, not applied', async (base, message) => {
    const env = { SVC_BASE_URL: base, SVC_TOKEN: 'tok-en-1' };
    const { code, stdout, stderr } = await runBuilt(['chat', 'x'], { env });
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('the local service', () => {
  it('serves all five without a port, credentials or network', async () => {
    const cwd = temporaryDirectory();
    const setting: ProcessSetting = { cwd };
    const results = [
      await runBuilt(['feedback', 'replace', '--local', '-f', join(demo, 'feedback.json')], setting),
      await runBuilt(['feedback', 'schema', '--local', '--project-id', 'acme/support-bot', '--since', '1d'], setting),
      await runBuilt(['chat', '--profile', 'local', 'Hi'], setting),
      await runBuilt(['train', '--local', join(demo, 'groups.jsonl'), '--model-id', model], setting),
      await runBuilt(['call', 'start', '--local', '-f', join(demo, 'call.json')], {
        ...setting,
        env: { SVC_PROFILE: '' },
      }),
    ];
    expect(results.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual([0, 0, 0, 0, 0]);
    expect(JSON.parse(results[1]?.stdout ?? '').paths).toHaveLength(4);
  });

  it('is shared by processes that write at the same time', async () => {
    const cwd = temporaryDirectory();
    const children = Array.from({ length: 6 }, (_, at) =>
      start(['call', 'start', '--local', '--project-id', 'a/b', '--op-name', `op-${at}`], { cwd }),
    );
    const codes = await Promise.all(children.map(async (child) => (await waitForExit(child)).code));
    expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
  });
});
