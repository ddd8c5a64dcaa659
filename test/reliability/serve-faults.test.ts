import { existsSync, readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { gunzipSync, inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { parseFaultRule } from '../../src/local-service/fault-rule.ts';
import { faultEffectTerms, selectingFaultTerms } from '../../src/local-service/fault-terms.ts';
import { withFaults } from '../../src/local-service/inject-faults.ts';
import { inShell, run, serve, waitForExit } from '../support/process.ts';
import { answering } from '../support/service.ts';
import { temporaryDirectory } from '../support/svc.ts';

const feedback =
  '{"project_id":"a/b","feedback_id":"none","feedback_type":"t","svc_ref":"svc:///a/b/object/n:v","payload":{}}';
const chat = 'svc chat hi --quiet';
const call = 'svc call start --project-id a/b --op-name x';

describe("a user's script against svc serve --fault", () => {
  it.each<[name: string, rules: string[], script: string, code: number, applied: string | undefined]>([
    ['a storm of 503 that ends', ['operation=chat,first=2,status=503,retry-after=0'], chat, 0, undefined],
    ['an endless storm of 503', ['status=503,retry-after=0'], `${chat} --retries 1`, 9, 'no'],
    ['503 without Retry-After', ['status=503'], chat, 6, 'unknown'],
    ['500', ['status=500'], chat, 6, 'unknown'],
    ['a gateway', ['status=502'], `${call} --retries 0`, 8, 'unknown'],
    ['a rate limit', ['status=429,retry-after=3600'], chat, 9, 'no'],
    ['wrong credentials', ['status=401'], chat, 4, 'no'],
    ['a cut response', ['operation=chat,cut=40'], chat, 11, 'yes'],
    ['a cut stream', ['operation=chat,cut=400'], `${chat} --stream`, 11, 'yes'],
    ['a reset after applying', ['reset=after'], chat, 8, 'unknown'],
    ['a reset before applying', ['reset=before'], chat, 8, 'unknown'],
    ['a reset that a retry survives', ['first=1,reset=after'], call, 0, undefined],
    ['a header that no request has', ['header=x-chaos:on,status=500'], chat, 0, undefined],
    ['a header of this request', ['header=X-Chaos:on,status=500'], `${chat} -H 'X-Chaos: on'`, 6, 'unknown'],
    ['another operation', ['operation=train,status=500'], chat, 0, undefined],
    ['a delay', ['delay=1h'], `${chat} --timeout 1s`, 8, 'unknown'],
  ])('%s', async (_, rules, script, code, applied) => {
    const { env } = await serve(rules.flatMap((rule) => ['--fault', rule]));
    const result = await inShell(`${script} --error-format json`, { env });
    expect(result, result.stderr).toMatchObject({ code });
    const last = result.stderr.trim().split('\n').at(-1) ?? '';
    if (applied) expect(JSON.parse(last)).toMatchObject({ error: { exit_code: code, applied } });
  });

  it('applies what it resets after applying, and nothing that it resets before', async () => {
    const cwd = temporaryDirectory();
    for (const [when, count] of [
      ['after', 1],
      ['before', 0],
    ] as const) {
      const data = join(cwd, `${when}.db`);
      const { env } = await serve(['--data', data, '--fault', `operation=feedback-replace,reset=${when}`]);
      expect(await run(['feedback', 'replace'], { env, stdin: feedback.replace('{}', '{"a":1}') })).toMatchObject({
        code: 8,
      });
      const schema = await run(['feedback', 'schema', '--project-id', 'a/b', '--since', '1h', '--json'], { env });
      expect(JSON.parse(schema.stdout).paths).toHaveLength(count);
    }
  });

  it.each<[name: string, rule: string, payload: string, code: number, isKept: boolean]>([
    ['a service that checks first', 'operation=chat,status=500', 'large', 5, true],
    ['400', 'operation=feedback-replace,delete=old', 'large', 5, false],
    ['a rule of such a server', 'operation=feedback-replace,delete=old', 'note', 5, false],
    ['such a rule elsewhere', 'operation=chat,status=500', 'note', 0, true],
    ['422', 'operation=feedback-replace,delete=old', 'invalid', 5, true],
    ['200', 'operation=feedback-replace,delete=old', '{"b":1}', 0, true],
    ['an injected 500', 'operation=feedback-replace,delete=old,status=500', '{"b":1}', 6, false],
    ['an injected 429', 'operation=feedback-replace,delete=old,status=429', '{"b":1}', 9, true],
    ['a reset', 'operation=feedback-replace,delete=old,reset=before', '{"b":1}', 8, false],
    ['a lost response', 'operation=feedback-replace,delete=old,reset=after', '{"b":1}', 8, true],
  ])('the old record after %s', async (_, rule, payload, code, isKept) => {
    const cwd = temporaryDirectory();
    const data = join(cwd, 'svc.db');
    const stored = feedback.replace('{}', '{"a":1}').replace('"none"', '"r1","id":"r1"');
    const first = await serve(['--data', data]);
    expect(await run(['feedback', 'replace'], { env: first.env, stdin: stored })).toMatchObject({ code: 0 });
    const { env } = await serve(['--data', data, '--fault', rule]);
    const values: Readonly<Record<string, string>> = {
      large: `{"x":"${'x'.repeat(1024 * 1024)}"}`,
      invalid: '[]',
      note: '{"b":1}',
    };
    const flags = ['--retries', '0', '--no-check'];
    const typed = payload === 'note' ? stored.replace('"t"', '"wandb.note.1"') : stored;
    const stdin = typed.replace('{"a":1}', values[payload] ?? payload);
    expect(await run(['feedback', 'replace', ...flags], { env, stdin })).toMatchObject({ code });
    const schema = await run(['feedback', 'schema', '--project-id', 'a/b', '--since', '1h', '--json'], { env });
    expect(JSON.parse(schema.stdout).paths).toHaveLength(isKept ? 1 : 0);
  });

  it('rejects an invalid rule, with what is legal', async () => {
    for (const [rule, text] of [
      ['operation=chats,status=500', 'feedback-replace, feedback-schema, chat, train or call-start'],
      ['status=200', '400 to 599'],
      ['every=3', 'add status='],
      ['status=500,cut=3', 'one of status, cut, reset'],
      ['error-200,finish-error', 'error-200, finish-error; give --fault again'],
      ['knee=4', 'knee= needs delay='],
      ['operation=train,finish-error', 'it needs operation=chat'],
      ['complete-mode,ttft=1s', 'it needs operation=chat'],
      ['retries=3', 'retry-after='],
      ['delay=1s,retry-after=1', 'it needs status= or rate='],
      ['rate=5', 'rate=5/10s'],
      ['status=500,delete=old', 'it needs operation=feedback-replace'],
    ]) {
      expect(await run(['serve', '--fault', rule ?? ''])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(text ?? ''),
      });
    }
  });
});

describe('what svc serve --fault plays', () => {
  interface Chunk {
    readonly id: string;
    readonly choices: readonly { readonly delta: Record<string, string>; readonly finish_reason: string | null }[];
  }

  const ask = (url: string, body = {}): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'accept-encoding': 'identity' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...body }),
    });
  const askRaw = async (url: string): Promise<{ readonly encoding: string | null; readonly bytes: Buffer }> =>
    new Promise((resolve, reject) => {
      const body = '{"messages":[{"role":"user","content":"hi"}]}';
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      request(`${url}/v1/chat/completions`, { method: 'POST', headers }, async (response) => {
        const bytes = Buffer.concat(await response.toArray());
        resolve({ encoding: response.headers['content-encoding'] ?? null, bytes });
      })
        .on('error', reject)
        .end(body);
    });
  const served = async (rule: string): Promise<string> => (await serve(['--no-auth', '--fault', rule])).url;
  const streamed = async (rule: string): Promise<Chunk[]> => {
    const text = await (await ask(await served(rule), { stream: true })).text();
    return Array.from(text.matchAll(/^data: (\{.*)$/gm), ([, data]) => JSON.parse(data ?? ''));
  };

  it('a full queue as that of vLLM: at most so many in flight, and 503 for the others', async () => {
    const url = await served('capacity=2,delay=1h');
    const held = Array.from({ length: 2 }, () => {
      const controller = new AbortController();
      const end = fetch(`${url}/v1/chat/completions`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
        ...{ body: '{"messages":[]}', signal: controller.signal },
      }).catch(() => {});
      return { abort: () => controller.abort(), end };
    });
    let refused = await ask(url, { n: 1 });
    while (refused.status !== 503) refused = await ask(url);
    expect(refused.headers.get('retry-after')).toBe(null);
    expect(await refused.json()).toMatchObject({
      error: {
        type: 'Service Unavailable',
        code: 503,
        message: expect.stringMatching(/^The engine is currently busy/),
      },
    });
    for (const { abort } of held) abort();
    await Promise.all(held.map(({ end }) => end));
  });

  it('a queue that a batch gets through: every line is done, none unknown or twice', async () => {
    const cwd = temporaryDirectory();
    const { env } = await serve(['--fault', 'capacity=3,ttft=20ms,tps=1000,jitter=0.5,knee=2'], { cwd });
    const lines = Array.from({ length: 40 }, (_, at) => `{"messages":[{"role":"user","content":"${at}"}]}`);
    const args = ['chat', '--batch', '-', '-o', 'out.jsonl', '--concurrency', '12'];
    const { code, stderr } = await run(args, { env, cwd, stdin: lines.join('\n') });
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('40 done, 0 failed, 0 unknown'),
    });
  });

  it('a project that takes only complete calls', async () => {
    const { env } = await serve(['--fault', 'complete-mode']);
    const call = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x'];
    expect(await run(call, { env })).toMatchObject({ code: 5, stderr: expect.stringContaining('/v2/a/b') });
    expect(await run(['chat', 'hi'], { env })).toMatchObject({ code: 0 });
  });

  it('an error under status 200, whole and as the first event', async () => {
    const response = await ask(await served('error-200=rate_limit_exceeded'));
    expect([response.status, await response.json()]).toEqual([
      200,
      { error: expect.objectContaining({ code: 'rate_limit_exceeded' }) },
    ]);
    expect(await streamed('error-200')).toEqual([{ error: expect.objectContaining({ code: 500 }) }]);
  });

  it('a text whose choice ends in an error', async () => {
    const message = { content: expect.stringContaining('hi') };
    expect(await (await ask(await served('finish-error'))).json()).toMatchObject({
      choices: [{ finish_reason: 'error', error: {}, message }],
    });
    const reasons = (await streamed('finish-error=network_error')).map(
      ({ choices: [choice] }) => choice?.finish_reason,
    );
    expect(reasons.filter((reason) => reason !== null)).toEqual(['network_error']);
  });

  it.each<[value: string, header: string, decode: (bytes: Buffer) => Buffer]>([
    ['gzip+gzip', 'gzip, gzip', (bytes) => gunzipSync(gunzipSync(bytes))],
    ['raw-deflate', 'deflate', inflateRawSync],
    ['identity+gzip', 'identity, gzip', gunzipSync],
    ['aws-chunked', 'aws-chunked', (bytes) => bytes],
  ])('the encoding %s', async (value, header, decode) => {
    const { encoding, bytes } = await askRaw(await served(`encoding=${value}`));
    expect(encoding).toBe(header);
    expect(JSON.parse(decode(bytes).toString()).choices).toHaveLength(1);
  });

  it('a first chunk without values, and the text again in fields that nobody knows', async () => {
    const chunks = await streamed('first-chunk=azure,split=unknown-field,tps=2000');
    expect(chunks[0]).toMatchObject({ id: '', model: '', choices: [] });
    const textOf = (name: string): string => chunks.map(({ choices: [choice] }) => choice?.delta[name] ?? '').join('');
    expect(textOf('unknown_text')).toBe(textOf('content'));
    expect(textOf('content')).toContain('hi');
  });

  it('is listed in the reference and in the help, as the terms say', async () => {
    const reference = readFileSync(new URL('../../docs/reference/local-service.md', import.meta.url), 'utf8');
    const help = (await run(['help', 'serve'])).stdout.replace(/\s+/g, ' ');
    for (const table of [selectingFaultTerms, faultEffectTerms]) {
      for (const { form, summary } of Object.values(table)) {
        expect(reference).toContain(`| \`${form}\` | ${summary} |\n`);
        expect(help).toContain(form);
      }
    }
  });
});

describe('fault rules', () => {
  it('wait as long as load and seed say', async () => {
    const waits = async (rule: string, count: number): Promise<number[]> => {
      const times: number[] = [];
      const ends: (() => void)[] = [];
      const clock = {
        elapsed: () => 0,
        after: (milliseconds: number, end: () => void) => {
          times.push(milliseconds);
          ends.push(end);
          return () => {};
        },
      };
      const send = withFaults([parseFaultRule(rule)], clock, async () => {})(answering('{}').send);
      const request = { method: 'POST', url: 'http://localhost/call/start', headers: [], body: new Uint8Array() };
      const all = Array.from({ length: count }, () => send(request));
      for (const end of ends) end();
      await Promise.all(all);
      return times;
    };
    expect(await waits('delay=1s,knee=2', 4)).toEqual([1000, 1000, 1500, 2000]);
    const jittered = await waits('delay=1s,jitter=0.2,seed=a', 64);
    expect(jittered).toEqual(await waits('delay=1s,jitter=0.2,seed=a', 64));
    expect(jittered).not.toEqual(await waits('delay=1s,jitter=0.2,seed=b', 64));
    expect(Math.min(...jittered)).toBeGreaterThanOrEqual(800);
    expect(Math.max(...jittered)).toBeLessThan(1200);
    expect(new Set(jittered).size).toBeGreaterThan(60);
  });

  it.each(
    'operation=x header=:x every=0 first=x chance=2 seed= rate=5 status=200 retry-after=x delay= cut=x reset=x delete=new capacity=x complete-mode=1 error-200=! finish-error=! encoding= first-chunk=x split=x ttft= tps=0 jitter=2 knee=0'.split(
      ' ',
    ),
  )('with %s name it, and what to use', (part) => {
    const failure = expect.objectContaining({
      message: `--fault: "${part}" is not a valid rule`,
      facts: expect.objectContaining({ hint: expect.stringMatching(/^use /) }),
    });
    expect(() => parseFaultRule(`status=503, ${part}`.replace(/^status=503, (?=status)/, ''))).toThrow(failure);
  });

  it.each([
    ['foo=bar', 'foo= is not a term'],
    ['status=503,status=502', 'status= is given twice'],
  ])('with %s say why, and list the terms', (rule, why) => {
    const hint = expect.stringMatching(new RegExp(`^${why}; terms, each at most once: operation= header= `));
    expect(() => parseFaultRule(rule)).toThrow(expect.objectContaining({ facts: expect.objectContaining({ hint }) }));
  });

  const statuses = async (rules: string[], count: number, times: readonly number[] = []): Promise<string> => {
    let at = 0;
    const clock = { after: () => () => {}, elapsed: () => times[at] ?? 0 };
    const send = withFaults(rules.map(parseFaultRule), clock, async () => {})(answering('{}').send);
    const request = { method: 'POST', url: 'http://localhost/call/start', headers: [], body: new Uint8Array() };
    const all: number[] = [];
    for (; at < count; at++) all.push((await send(request)).status);
    return all.map((status) => (status === 200 ? '.' : String(status)[2])).join('');
  };

  it('take every nth request, the first ones, a share by seed, or those above a rate', async () => {
    expect(await statuses(['every=3,status=501'], 9)).toBe('..1..1..1');
    expect(await statuses(['first=2,status=501'], 4)).toBe('11..');
    expect(await statuses(['every=2,status=501', 'status=502'], 4)).toBe('2121');
    expect(await statuses(['rate=2/10s'], 6, [0, 1, 2, 3, 10_000, 10_001])).toBe('..99..');
    const half = await statuses(['chance=0.5,seed=a,status=501'], 64);
    expect(half).toBe(await statuses(['chance=0.5,seed=a,status=501'], 64));
    expect(half).not.toBe(await statuses(['chance=0.5,seed=b,status=501'], 64));
    const hits = half.split('1').length - 1;
    expect(hits).toBeGreaterThan(16);
    expect(hits).toBeLessThan(48);
  });
});

describe('a recorded session', () => {
  it('of the whole demo is replayed without a service', { timeout: 120_000 }, async () => {
    const cwd = temporaryDirectory();
    const har = join(cwd, 'demo.har');
    const demo = `bash ${new URL('../demo/demo.sh', import.meta.url).pathname}`;
    const recorded = await serve(['--record', har], { cwd });
    const first = await inShell(demo, { env: recorded.env, cwd });
    expect(first, first.stderr).toMatchObject({ code: 0 });
    const ended = waitForExit(recorded.child);
    recorded.child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0 });
    const text = readFileSync(har, 'utf8');
    const { log } = JSON.parse(text);
    expect(log).toMatchObject({ version: '1.2', creator: { name: 'svc' } });
    expect(log.entries).toHaveLength(6);
    for (const secret of ['pass-word-1', 'tok-en-1', Buffer.from('ada:pass-word-1').toString('base64')])
      expect(text).not.toContain(secret);
    expect(statSync(har).mode & 0o777).toBe(0o600);

    const empty = temporaryDirectory();
    const replayed = await serve(['--replay', har], { cwd: empty });
    const again = await inShell(demo, { env: replayed.env, cwd });
    expect(again, again.stderr).toMatchObject({ code: 0 });
    const values = /[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z/g;
    expect(again.stdout.replace(values, '')).toBe(first.stdout.replace(values, ''));
    expect(again.stderr).not.toContain('warning');
    const end = waitForExit(replayed.child);
    replayed.child.kill('SIGTERM');
    expect(await end).toMatchObject({ code: 0 });
    expect(existsSync(join(empty, 'data', 'svc.db'))).toBe(false);
  });

  it('is complete after each exchange, also of faults; an unknown request is exit 13 at the end', async () => {
    const cwd = temporaryDirectory();
    const har = join(cwd, 'a.har');
    const recorded = await serve(['--record', har, '--fault', 'operation=call-start,reset=after'], { cwd });
    await run(['call', 'start', '--project-id', 'a/b', '--op-name', 'x', '--retries', '0'], { env: recorded.env });
    await run(['chat', 'one'], { env: recorded.env });
    const { entries } = JSON.parse(readFileSync(har, 'utf8')).log;
    expect(entries.map((entry: { response: { status: number } }) => entry.response.status)).toEqual([0, 200]);
    expect(await run(['serve', '--record', har])).toMatchObject({ code: 12, stderr: expect.stringContaining(har) });

    const { env, child } = await serve(['--replay', har], { cwd });
    const end = waitForExit(child);
    expect((await run(['chat', 'one'], { env })).stdout).toContain('one');
    expect(await run(['chat', 'two'], { env })).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('not in the recording'),
    });
    child.kill('SIGTERM');
    const { code, stderr } = await end;
    expect(code).toBe(13);
    expect(stderr).toContain('1 request was not in');
    expect(stderr).toContain('POST /v1/chat/completions (1)');
  });

  it('of injected errors and wrong credentials is replayed in the same order', async () => {
    const cwd = temporaryDirectory();
    const har = join(cwd, 'errors.har');
    const faults = ['operation=chat,every=2,status=503,retry-after=0', 'operation=call-start,reset=before'];
    const recorded = await serve(['--record', har, ...faults.flatMap((rule) => ['--fault', rule])], { cwd });
    const session = async (env: typeof recorded.env): Promise<readonly unknown[]> => {
      const chat = ['chat', 'one', '--retries', '0', '--no-stdin'];
      const call = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x', '--retries', '0'];
      const ends = [];
      for (const [args, more] of [[chat, { SVC_TOKEN: 'wrong' }], [chat], [chat], [call]] as const)
        ends.push((await run(args, { env: { ...env, ...more } })).code);
      return ends;
    };
    expect(await session(recorded.env)).toEqual([4, 9, 0, 8]);
    const { env } = await serve(['--replay', har], { cwd });
    expect(await session(env)).toEqual([4, 9, 0, 8]);
  });

  it('rejects a file that is not HAR', async () => {
    const file = new URL('../demo/chat.json', import.meta.url).pathname;
    expect(await run(['serve', '--replay', file])).toMatchObject({
      code: 12,
      stderr: expect.stringContaining('not a valid HAR file'),
    });
  });
});
