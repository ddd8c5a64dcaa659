import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { HttpHeaders, Send } from '../../src/http/message.ts';
import { clock } from '../support/clock.ts';
import { done, event } from '../support/event-stream.ts';
import { answering, serviceEnv as env } from '../support/service.ts';
import { type Result, svc, temporaryDirectory } from '../support/svc.ts';

const json: HttpHeaders = [['Content-Type', 'application/json']];
const events: HttpHeaders = [['Content-Type', 'text/event-stream; charset=utf-8']];

interface Answer {
  readonly status?: number;
  readonly headers?: HttpHeaders;
  /** The pieces of the body; an Error cuts it there. */
  readonly pieces: readonly (string | Uint8Array | Error)[];
}

function sending({ status = 200, headers = json, pieces }: Answer): Send {
  return async (request) => {
    for await (const _ of request.body instanceof Uint8Array ? [] : request.body.chunks());
    return {
      status,
      statusText: '',
      headers,
      body: (async function* () {
        for (const piece of pieces) {
          if (piece instanceof Error) throw piece;
          yield Buffer.from(piece);
        }
      })(),
    };
  };
}

const ask = (answer: Answer, ...flags: string[]): Promise<Result> =>
  svc(['chat', 'x', '--no-stdin', ...flags], { env, send: sending(answer) });
const start = (answer: Answer, ...flags: string[]): Promise<Result> =>
  svc(['call', 'start', '--project-id', 'a/b', '--op-name', 'x', ...flags], { env, send: sending(answer) });

const chunk = (choice: string, more = ''): string =>
  event(`{"id":"c","object":"chat.completion.chunk","created":1.0,"model":"m","choices":[${choice}]${more}}`);
const text = (content: string, index = 0): string =>
  chunk(`{"index":${index},"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}`);
const finish = (reason = 'stop', index = 0): string =>
  chunk(`{"index":${index},"delta":{},"finish_reason":"${reason}"}`);
const stream = (...pieces: (string | Uint8Array | Error)[]): Answer => ({ headers: events, pieces });

describe('the next step after an error of a server', () => {
  const shorter = 'shorten the prompt or the conversation';
  const account = 'check the quota and the billing of the account';
  const content = 'change the prompt or its attachments';
  const model = 'name a model of the service with -m <model>; ';
  it.each([
    [400, { error: { code: 'context_length_exceeded', message: 'too long', param: 'messages' } }, shorter],
    [400, { object: 'error', message: "This model's maximum context length is 4096 tokens.", code: 400 }, shorter],
    [400, { type: 'error', error: { message: 'prompt is too long: 210000 tokens > 200000 maximum' } }, shorter],
    [400, { error: { code: 400, type: 'exceed_context_size_error', message: 'the request exceeds it' } }, shorter],
    [400, { error: { message: 'The input token count (9) exceeds the maximum number of tokens allowed' } }, shorter],
    [400, { message: 'Prompt contains 9 tokens, too large for model with 4 maximum context length' }, shorter],
    [422, { error: '`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 4000' }, shorter],
    [413, { error: { message: 'Request too large for model `m`', code: 'rate_limit_exceeded' } }, shorter],
    [429, { error: { message: 'Request too large for m on tokens per min (TPM): Limit 3, Requested 4.' } }, shorter],
    [429, { error: { message: 'You exceeded the tokens per minute limit' } }, 'run the command again later'],
    [413, { message: 'too large' }, 'send a smaller body: this one has 56 bytes'],
    [429, { error: { message: 'limit', code: 'insufficient_quota' } }, account],
    [402, { error: { message: 'Insufficient Balance' } }, account],
    [400, { error: { message: 'Your credit balance is too low to access the API.' } }, account],
    [404, { error: { message: 'x', code: 'model_not_found', param: 'model' } }, model],
    [404, { error: "model 'm' not found, try pulling it first" }, model],
    [400, { error: { message: 'you must provide a model parameter' } }, model],
    [400, { error: { message: 'The response was filtered', code: 'content_filter', param: 'prompt' } }, content],
    [403, { error: { message: 'Your input was flagged' } }, content],
    [
      422,
      { detail: [{ loc: ['header', 'x-version'], msg: 'Field required' }] },
      "add the header: -H 'x-version: <value>'",
    ],
    [503, { error: { message: 'maximum context length' } }, 'if you run it again, you may be charged twice'],
  ])('%i %j', async (status, body, hint) => {
    const { stderr } = await ask({ status, pieces: [JSON.stringify(body)] }, '-m', 'm', '--retries', '0');
    expect(stderr.split('\n').at(-2)).toContain(hint);
  });
});

describe('a response', () => {
  it.each([
    ['{"paths":null}', 'no "paths"'],
    ['{"paths":{"a":"numeric"}}', 'a "paths" that is not an array'],
    ['{"paths":"a"}', 'a "paths" that is not an array'],
  ])('with rows that are not an array is invalid: %s', async (body, problem) => {
    const args = ['feedback', 'schema', '--project-id', 'a/b', '--since', '7d', '--format', 'csv'];
    const result = await svc(args, { env, send: sending({ pieces: [body] }) });
    expect(result).toMatchObject({ code: 11, stdout: `${body}\n` });
    expect(result.stderr).toMatch(new RegExp(`the response from \\S+ has ${problem}`));
  });

  it('without rows has the header of csv and tsv, and no lines in other formats', async () => {
    const args = ['feedback', 'schema', '--project-id', 'a/b', '--since', '7d', '--format'];
    const send = sending({ pieces: ['{"paths":[]}'] });
    const formats = ['csv', 'tsv', 'table', 'text', 'jsonl'];
    const results = await Promise.all(formats.map((format) => svc([...args, format], { env, send })));
    expect(results.map(({ stdout }) => stdout)).toEqual([
      'json_path,value_type\r\n',
      'json_path\tvalue_type\n',
      ...['', '', ''],
    ]);
  });

  it.each(['', '\n', '\r\n'])('on one line is printed unchanged in a pipe; end %j', async (end) => {
    const body = '{ "id" : "1", "trace_id":"2", "n":9007199254740993, "f":1.0, "f":1e400 }';
    const { code, stdout } = await start({ pieces: [body.slice(0, 9), body.slice(9) + end] });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${body}${end || '\n'}` });
  });

  it('on several lines is one line in a pipe, with every value unchanged', async () => {
    const body =
      '{\n  "id" : "1",\r\n\t"trace_id":"2",\n"n":9007199254740993, "f":1.0, "f":1e400,\n"t":"a\\n b\\u0007" }';
    const line = '{"id":"1","trace_id":"2","n":9007199254740993,"f":1.0,"f":1e400,"t":"a\\n b\\u0007"}\n';
    const formats = [[], ['--json'], ['--format', 'jsonl']];
    for (const format of formats)
      for (const end of ['', '\n', '\n\n'])
        expect((await start({ pieces: [body + end] }, ...format)).stdout).toBe(line);
    expect((await start({ pieces: [body] }, '--format', 'text')).stdout).toBe(
      'id\t1\ntrace_id\t2\nn\t9007199254740993\nf\t1.0\nf\t1e400\nt\ta  b\\x07\n',
    );
  });

  it('with any 2xx status is a success', async () => {
    for (const status of [200, 201, 202, 299])
      expect((await start({ status, pieces: ['{"id":"1","trace_id":"2"}'] })).code).toBe(0);
  });

  it.each([
    ['not json', /is not valid JSON/],
    ['{"id":NaN}', /is not valid JSON: NaN is not a JSON number$/],
    ['', /is empty/],
    ['[1]', /is not an object/],
    ['{"ID":1}', /has no "id"/],
  ])('that is invalid (%j) is printed, exit 11, applied', async (body, message) => {
    const result = await start({ pieces: [body] }, '--error-format', 'json');
    expect(result).toMatchObject({ code: 11, stdout: body === '' ? '' : `${body}\n` });
    const { error } = JSON.parse(result.stderr);
    expect(error.message).toMatch(message);
    expect(error).toMatchObject({ applied: 'yes', exit_code: 11, status: 200 });
    expect(Object.keys(error.ids)).toEqual(['call', 'trace']);
  });

  it('that is a web page names the URL to check', async () => {
    const { stderr } = await start({ pieces: ['\n<!doctype html><p>Welcome</p>'] });
    expect(stderr).toMatch(
      /\n {2}check the base URL \(SVC_BASE_URL\): the request went to https:\/\/svc\.test\/call\/start; /,
    );
  });

  it.each([
    ['not json', 'the partial output is in a.json.partial'],
    ['{"ID":1}', 'the partial output is in a.json.partial'],
    ['', 'is empty'],
  ])('that is invalid (%j) never replaces the file of -o', async (body, message) => {
    const cwd = temporaryDirectory();
    const file = join(cwd, 'a.json');
    writeFileSync(file, 'old\n');
    const args = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x', '-o', 'a.json'];
    const result = await svc(args, { env, cwd, send: sending({ pieces: [body] }) });
    expect(result).toMatchObject({ code: 11, stdout: '', stderr: expect.stringContaining(message) });
    expect(readFileSync(file, 'utf8')).toBe('old\n');
    expect(existsSync(`${file}.partial`) && readFileSync(`${file}.partial`, 'utf8')).toBe(body !== '' && `${body}\n`);
  });

  it('that is otherwise unexpected is a warning', async () => {
    const result = await start({ pieces: ['{"id":"1","new":1}'] });
    expect(result.code).toBe(0);
    expect(result.stderr).toMatch(/^svc: warning: unexpected response: trace_id is required$/m);
  });

  it('with other ids than those that were sent is a warning, and with --strict exit 11', async () => {
    const id = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05';
    const other = { pieces: [`{"id":"other","trace_id":"${id}"}`] };
    const message = `the response has id "other", but "${id}" was sent; it may be for another request`;
    const result = await start(other, '--id', id, '--trace-id', id);
    expect(result).toMatchObject({ code: 0, stderr: `svc: warning: ${message}\n` });
    const strict = await start(other, '--id', id, '--trace-id', id, '--strict');
    expect(strict).toMatchObject({ code: 11, stdout: expect.stringContaining('other') });
    expect(strict.stderr).toContain(`svc: ${message}\n`);
    expect(strict.stderr).toContain('  the request was applied\n');
  });

  it('causes a warning only if a user can act on it', async () => {
    const message = '{"content":[{"type":"text","text":"a"}],"annotations":[],"tool_calls":null}';
    const odd = `{"id":"i","model":"m","usage":{},"service_tier":"standard","choices":[{"message":${message},"stop_reason":"x","finish_reason":"stop"}]}`;
    expect(await ask({ pieces: [odd] })).toMatchObject({ code: 0, stdout: 'a\n', stderr: '' });
  });

  it.each(['gzip', 'zstd'])('that is not in its encoding %s is read as it is', async (encoding) => {
    const { code, stderr } = await ask({ headers: [...json, ['Content-Encoding', encoding]], pieces: ['{}'] });
    expect({ code, stderr }).toEqual({
      code: 11,
      stderr: expect.stringMatching(
        /^svc: the response from https:\/\/svc.test has no "choices"\n {2}the request was applied\n/,
      ),
    });
  });

  const { BROTLI_OPERATION_FLUSH, Z_SYNC_FLUSH } = constants;
  it.each<[string, (text: string) => Buffer]>([
    ['gzip', (part) => gzipSync(part, { finishFlush: Z_SYNC_FLUSH })],
    ['deflate', (part) => deflateSync(part, { finishFlush: Z_SYNC_FLUSH })],
    ['br', (part) => brotliCompressSync(part, { finishFlush: BROTLI_OPERATION_FLUSH })],
  ])('in the encoding %s keeps the text before a cut', async (encoding, compressStart) => {
    const encoded: HttpHeaders = [['Content-Encoding', encoding]];
    const half = compressStart(text('a').repeat(2));
    const cutStream = (...pieces: (Buffer | Error)[]): Promise<Result> =>
      ask({ headers: [...events, ...encoded], pieces }, '--stream');
    expect(await cutStream(half)).toMatchObject({ code: 11, stdout: 'aa\n' });
    expect(await cutStream(half, new Error('reset'))).toMatchObject({ code: 11, stdout: 'aa\n' });
    const complete = compressStart(text('a') + finish());
    expect(await cutStream(complete, new Error('reset'))).toMatchObject({ code: 0, stdout: 'a\n' });
    const json = await start({ headers: encoded, pieces: [compressStart('{"id":'), new Error('reset')] });
    expect(json).toMatchObject({ code: 11, stderr: expect.stringContaining('cut after 6 bytes: reset') });
  });

  it('that is cut is exit 11 after its first byte, and unknown before', async () => {
    expect(await start({ pieces: ['{"id":', new Error('reset')] })).toMatchObject({
      code: 11,
      stdout: '',
      stderr: expect.stringContaining('cut after 6 bytes: reset'),
    });
    const lost = await start({ pieces: [new Error('reset')] });
    expect(lost).toMatchObject({ code: 8, stdout: '' });
    expect(lost.stderr).toContain('it is safe to run it again with the same ids');
  });
});

describe('rows', () => {
  const paths = '{"paths":[{"json_path":"a.b","value_type":"numeric"},{"json_path":"c d","value_type":"x"}]}';
  const schema = (format: string): Promise<Result> =>
    svc(['feedback', 'schema', '--project-id', 'a/b', '--since', '1d', '--format', format], {
      env,
      send: sending({ pieces: [paths] }),
    });

  it.each([
    ['table', 'JSON_PATH  VALUE_TYPE\na.b        numeric\nc d        x\n'],
    ['text', 'a.b\tnumeric\nc d\tx\n'],
    ['jsonl', '{"json_path":"a.b","value_type":"numeric"}\n{"json_path":"c d","value_type":"x"}\n'],
    ['json', `${paths}\n`],
  ])('as %s', async (format, wanted) => {
    expect((await schema(format)).stdout).toBe(wanted);
  });
});

describe('rows that are incomplete', () => {
  const rows = (body: string, ...flags: string[]): Promise<Result> =>
    svc(['feedback', 'schema', '--project-id', 'a/b', '--since', '1d', ...flags], {
      env,
      send: sending({ pieces: [body] }),
    });

  it.each([
    ['[1]', '1 element lacks'],
    ['[null,{"x":1}]', '2 elements lack'],
    ['[{"json_path":"","value_type":"numeric"},{"json_path":5,"value_type":"numeric"}]', '2 elements lack'],
  ])('are a warning, and left out of views: %s', async (paths, count) => {
    const body = `{"paths":${paths}}`;
    const stderr = `svc: warning: unexpected response: in paths, ${count} json_path or value_type\n`;
    expect(await rows(body, '--view', 'tree')).toMatchObject({ code: 0, stdout: '', stderr });
    expect(await rows(body, '--format', 'csv')).toMatchObject({ code: 0, stderr });
    expect(await rows(body)).toMatchObject({ code: 0, stdout: `${body}\n`, stderr });
  });

  it('have an unknown type in views without one', async () => {
    const result = await rows('{"paths":[{"json_path":"a","value_type":null}]}', '--view', 'tree');
    expect(result).toMatchObject({
      code: 0,
      stdout: 'a: unknown\n',
      stderr: expect.stringContaining('1 element lacks'),
    });
  });
});

describe('a status says whether the request was applied', () => {
  it('names ids and digests after a 409 only where the body has some', async () => {
    const { stderr } = await ask({ status: 409, pieces: ['{"detail":"because"}'] });
    expect(stderr).toMatch(/^ {2}check the body: the service rejects the same body again$/m);
  });

  it.each<[number, HttpHeaders, number, string, string]>([
    [301, [['Location', 'https://other.test/']], 5, 'no', 'redirects to https://other.test/'],
    [400, [], 5, 'no', 'https://svc.test returned 400: because'],
    [
      401,
      [],
      4,
      'no',
      'https://svc.test rejected user "api" from SVC_USERNAME and SVC_PASSWORD (profile "default"): 401',
    ],
    [402, [], 5, 'no', 'https://svc.test returned 402: because'],
    [403, [], 4, 'no', 'https://svc.test denies permission to user "api" from'],
    [404, [], 5, 'no', 'https://svc.test returned 404: because'],
    [408, [], 9, 'no', 'https://svc.test returned 408: because'],
    [
      405,
      [],
      5,
      'no',
      'returned 405: because check the base URL (SVC_BASE_URL): the request went to https://svc.test/call/start',
    ],
    [409, [], 5, 'no', 'returned 409: because check the ids and digests in the body: '],
    [413, [], 5, 'no', 'https://svc.test returned 413: because'],
    [
      415,
      [],
      5,
      'no',
      'returned 415: because check the base URL (SVC_BASE_URL): the request went to https://svc.test/call/start',
    ],
    [421, [], 9, 'no', 'https://svc.test returned 421: because'],
    [422, [], 5, 'no', 'https://svc.test returned 422: because'],
    [425, [], 9, 'no', 'https://svc.test returned 425: because'],
    [429, [['Retry-After', '7']], 9, 'no', 'the service asks to wait 7 s: run the command again after '],
    [500, [], 6, 'unknown', 'https://svc.test returned 500: because; the request may have been applied'],
    [500, [['Retry-After', '90']], 6, 'unknown', 'the service asks to wait 90 s, until 20'],
    [502, [['Retry-After', '90']], 8, 'unknown', 'Z; it is safe to run it again with the same ids'],
    [501, [], 6, 'unknown', 'https://svc.test returned 501: because; the request may have been applied'],
    [502, [], 8, 'unknown', 'https://svc.test returned 502: because; the request may have been applied'],
    [503, [], 6, 'unknown', 'https://svc.test returned 503: because; the request may have been applied'],
    [503, [['Retry-After', '1']], 9, 'no', 'https://svc.test returned 503: because'],
    [503, [['Retry-After-Ms', '1500']], 9, 'no', 'the service asks to wait 2 s: run the command again after '],
    [504, [], 8, 'unknown', 'https://svc.test returned 504: because; the request may have been applied'],
    [520, [], 8, 'unknown', 'https://svc.test returned 520: because; the request may have been applied'],
    [524, [], 8, 'unknown', 'https://svc.test returned 524: because; the request may have been applied'],
    [599, [], 6, 'unknown', 'https://svc.test returned 599: because; the request may have been applied'],
  ])('%i %j is exit %i, applied %s', async (status, headers, code, applied, message) => {
    const answer = {
      status,
      headers: [...headers, ['X-Request-Id', 'r-1'] as const],
      pieces: ['{"detail":"because"}'],
    };
    const result = await start(answer, '--error-format', 'json');
    expect({ code: result.code, stdout: result.stdout }).toEqual({ code, stdout: '' });
    const { error } = JSON.parse(result.stderr);
    expect(error).toMatchObject({
      schema_version: 1,
      status,
      url: 'https://svc.test/call/start',
      applied,
      request_id: 'r-1',
      exit_code: code,
      attempts: 1,
    });
    expect(`${error.message} ${error.hint}`).toContain(message);
    expect(Object.keys(error.ids)).toEqual(applied === 'unknown' ? ['call', 'trace'] : []);
  });
});

it('a wait beyond the year 9999 is reported without its end', async () => {
  const { stderr } = await start({ status: 429, headers: [['Retry-After', '999999999999']], pieces: [] });
  expect(stderr).toBe('svc: https://svc.test returned 429\n  the service asks to wait 999999999999 s\n');
});

describe('retryable', () => {
  const ids = ['--id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05', '--trace-id', '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e06'];
  const call = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x'];
  const schema = ['feedback', 'schema', '--project-id', 'a/b', '--since', '1d'];
  it.each<[readonly string[], number, boolean]>([
    [schema, 500, true],
    [schema, 502, true],
    [schema, 501, false],
    [schema, 400, false],
    [schema, 429, true],
    [[...call, ...ids], 500, true],
    [[...call, ...ids], 504, true],
    [[...call, ...ids.slice(2)], 502, false],
    [call, 500, false],
    [call, 429, true],
    [['chat', 'x', '--no-stdin'], 500, false],
  ])('is true of %j after %i only if it is safe to run again: %s', async (args, status, retryable) => {
    const send = sending({ status, pieces: [] });
    const { stderr } = await svc([...args, '--error-format', 'json', '--quiet'], { env, send });
    expect(JSON.parse(stderr).error.retryable).toBe(retryable);
  });

  it('is true of a lost response where the file of the request has the ids', async () => {
    const cwd = temporaryDirectory();
    const [, id, , trace_id] = ids;
    const send: Send = async (request) => {
      request.onBodySent?.();
      throw new Error('reset');
    };
    for (const [fields, retryable] of [
      [{ id, trace_id }, true],
      [{ id }, false],
    ] as const) {
      const start = { project_id: 'a/b', op_name: 'x', attributes: {}, inputs: {}, ...fields };
      writeFileSync(join(cwd, 'call.json'), JSON.stringify({ start }));
      const args = ['call', 'start', '-f', 'call.json', '--error-format', 'json', '--quiet'];
      const { code, stderr } = await svc(args, { cwd, env, send });
      expect({ code, retryable: JSON.parse(stderr).error.retryable }).toEqual({ code: 8, retryable });
    }
  });
});

it('a TLS alert after the request was sent is a lost response, which is retried where that is safe', async () => {
  const code = 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR';
  const error = Object.assign(new Error('alert'), { code, reason: 'tlsv1 alert internal error' });
  for (const [id, attempts] of [
    [['--id', '1', '--trace-id', '2'], 2],
    [['--id', ''], 1],
  ] as const) {
    const send: Send = async (request) => {
      request.onBodySent?.();
      throw error;
    };
    const args = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x', '--no-check', '--exact', ...id];
    const result = await svc([...args, '--retries', '1', '--error-format', 'json'], { env, send });
    const failure = JSON.parse(result.stderr.trim().split('\n').at(-1) ?? '').error;
    expect({ code: result.code, attempts: failure.attempts }).toEqual({ code: 8, attempts });
    expect(failure.message).toContain('no response came: TLS failed: tlsv1 alert internal error');
  }
});

describe('errors of a service are understood in every shape', () => {
  const schemaHint = '  compare the request (add --dry-run) with its schema: svc spec call start\n';

  it.each([
    ['{"detail":"text"}', 'text'],
    ['{"reason":"why","error_code":"E1","error_type":"t"}', 'why'],
    ['{"error":{"message":"m","type":"t","param":null,"code":400}}', 'm'],
    ['{"object":"error","message":"flat","code":400}', 'flat'],
    ['{"error":"Unauthorized"}', 'Unauthorized'],
    ['{"message":"m2","error_code":"x"}', 'm2'],
    ['plain words\n', 'plain words'],
    ['{"other":1}', '{"other":1}'],
  ])('%s', async (body, wanted) => {
    expect((await start({ status: 400, pieces: [body] })).stderr).toBe(
      `svc: https://svc.test returned 400: ${wanted}\n${schemaHint}`,
    );
  });

  it('a page, which a web server makes of a request that it does not know', async () => {
    const page = '<!DOCTYPE html><html><head><title>Bad gateway</title></head></html>';
    expect((await start({ status: 400, pieces: [page] })).stderr).toBe(
      'svc: https://svc.test returned 400: Bad gateway\n  check the base URL (SVC_BASE_URL): the request went to https://svc.test/call/start\n',
    );
  });

  it('an empty one', async () => {
    expect((await start({ status: 400, pieces: [] })).stderr).toBe(`svc: https://svc.test returned 400\n${schemaHint}`);
  });

  it.each([
    [
      '{"detail":[{"type":"x","loc":["body","start","op_name"],"msg":"too short","input":"ECHO"}]}',
      '\n  --op-name: too short',
    ],
    ['{"error":{"message":"too short","code":400},"request":["ECHO","ECHO"]}', ': too short'],
    ['{"detail":"too short: ECHO"}', ': too short: yyyy'],
  ])('one that is cut because it repeats the request: %s', async (body, wanted) => {
    const { stderr } = await start({ status: 400, pieces: [body.replace('ECHO', 'y'.repeat(200_000))] });
    expect(stderr.startsWith(`svc: https://svc.test returned 400${wanted}`)).toBe(true);
    expect(stderr.length).toBeLessThan(1000);
  });

  it('as JSON that stays valid with control characters in messages and headers', async () => {
    const message = 'a\u0085\u009b\u00ad\u202e\u{e0001}\u001b\u007f';
    const headers: HttpHeaders = [['X-Request-Id', message]];
    const answer = { status: 400, headers, pieces: [JSON.stringify({ detail: message })] };
    const { stderr } = await start(answer, '--error-format', 'json', '-v');
    const lines = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)).toMatchObject({
      error: { message: `https://svc.test returned 400: ${message}`, request_id: message },
    });
  });

  it('a list of details is mapped back to where the values came from', async () => {
    const detail =
      '{"detail":[{"loc":["body","start","op_name"],"msg":"too short","type":"x"},{"loc":["body","start","inputs","q",0],"msg":"bad","type":"y"}]}';
    const { stderr } = await start({ status: 422, pieces: [detail] }, '--inputs', '{"q": ["z"]}');
    expect(stderr).toBe(
      'svc: https://svc.test returned 422\n  --op-name: too short\n  --inputs:1:8 start.inputs.q[0]: bad\n',
    );
  });

  it.each([
    ['{"errors":[{"field":"op_name","message":"bad"}]}', '--op-name: bad'],
    [
      '{"message":"invalid","errors":[{"field":"start.inputs.q[0]","message":"bad"}]}',
      '--inputs:1:8 start.inputs.q[0]: bad',
    ],
    ['{"errors":[{"field":["body","start","id"],"reason":"bad","code":"x"}]}', 'svc start.id: bad'],
    ['{"errors":[{"field":"X-Header","message":"bad"}]}', 'X-Header: bad'],
    ['{"errors":["bad","worse"]}', undefined],
  ])('a list of errors names fields, too: %s', async (body, line) => {
    const { stderr } = await start({ status: 400, pieces: [body] }, '--inputs', '{"q": ["z"]}');
    const end = line ?? 'compare the request (add --dry-run) with its schema: svc spec call start';
    expect(stderr).toBe(`svc: https://svc.test returned 400${line ? '' : ': bad; worse'}\n  ${end}\n`);
  });

  it.each([
    ['feedback', 'replace'],
    ['call', 'start'],
    ['chat', 'x'],
  ])('a 403 of a trace service may be about a field: %s %s', async (...words) => {
    const args = [...words, '--no-check', '--exact', '--no-stdin', '--project-id', 'a/b'];
    const flags = words.includes('chat') ? args.slice(0, -2) : args;
    const { stderr } = await svc(flags, { env, send: sending({ status: 403, pieces: [] }) });
    const hint =
      'or use another --profile or --project-id; the cause can also be a ref of another project or an invalid name in the body';
    expect(stderr.includes(hint)).toBe(!words.includes('chat'));
    expect(stderr).toContain('ask for permission on the service, or use another --profile');
  });

  it.each([
    ['"body.start.op_name"', '--op-name: bad'],
    ['"start.inputs[0]"', 'svc start.inputs[0]: bad'],
    ['"a text"', 'a text: bad'],
    ['["body"]', 'bad'],
    ['null', 'bad'],
  ])('a detail may have a location of any kind: %s', async (loc, line) => {
    const { stderr } = await start({ status: 422, pieces: [`{"detail":[{"loc":${loc},"msg":"bad","type":"x"}]}`] });
    expect(stderr).toBe(`svc: https://svc.test returned 422\n  ${line}\n`);
  });

  it('maps a field that the interface does not list, and nothing that the body does not have', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'fb.json'), '{"project_id":"a/b",\n"foo":[1, 2]}');
    const entry = (loc: string) => `{"loc":${loc},"msg":"no","type":"x"}`;
    const detail = `{"detail":[${entry('["body","foo",1]')},${entry('["body","bar"]')},${entry('["header","foo"]')}]}`;
    const args = ['feedback', 'replace', '-f', 'fb.json', '--no-check', '-q'];
    const { stderr } = await svc(args, { cwd, env, send: sending({ status: 422, pieces: [detail] }) });
    const issues = '  fb.json:2:11 foo[1]: no\n  bar: no\n  header.foo: no\n';
    const hint = '  the old record is unchanged: correct the body and run it again\n';
    expect(stderr).toBe(`svc: https://svc.test returned 422\n${issues}${hint}`);
  });

  it('is cut and cannot drive a terminal or repeat a secret', async () => {
    const body = JSON.stringify({ detail: `tok-en-1 \u001b[2J\u202e pass-word-1 ${'x'.repeat(5000)}` });
    const { stderr } = await start({ status: 400, pieces: [body] });
    expect(stderr).toContain('\\x1b[2J\\u202e [redacted]');
    expect(stderr).not.toMatch(/pass-word-1/);
    expect(stderr.length).toBeLessThan(1000);
  });

  it('that is unknown labels the ids, and prints the request id', async () => {
    const flags = [
      '--project-id',
      'a/b',
      '--feedback-id',
      'fb-1',
      '--feedback-type',
      'x',
      '--payload',
      '{}',
      '--no-check',
    ];
    const answer = { status: 502, headers: [['X-Request-Id', 'r-1']] as const, pieces: [] };
    const { code, stderr } = await svc(['feedback', 'replace', ...flags], { env, send: sending(answer) });
    expect(code).toBe(8);
    expect(stderr.split('\n').filter((line) => !line.includes('warning'))).toEqual([
      'svc: https://svc.test returned 502; the request may have been applied, or only have deleted the old record',
      '  request id: r-1',
      '  feedback to replace, if applied: fb-1',
      '  the old record may be deleted; if you run it again, it may be applied twice',
      '',
    ]);
  });

  it('that names a parameter is mapped to its flag', async () => {
    const body = '{"error":{"message":"too large","type":"BadRequestError","param":"max_tokens","code":400}}';
    const flags = ['--no-stdin', '-m', 'm', '--max-tokens', '9', '--no-check'];
    const { stderr } = await svc(['chat', 'x', ...flags], { env, send: sending({ status: 400, pieces: [body] }) });
    expect(stderr).toContain('svc: https://svc.test returned 400\n  --max-tokens: too large\n');
  });

  it('of rate limits comes with the headers about them', async () => {
    const headers = [['X-RateLimit-Remaining', '0'] as const, ['Retry-After', '90'] as const];
    const { stderr } = await start({ status: 429, headers, pieces: [] }, '--error-format', 'json');
    expect(JSON.parse(stderr).error.rate_limit).toEqual({ 'x-ratelimit-remaining': '0', 'retry-after': '90' });
    const noWait = await start({ status: 429, headers: [['Retry-After', '0'] as const], pieces: [] }, '--retries', '0');
    expect(noWait.stderr).toMatch(/^ {2}run the command again later$/m);
  });

  it('of rate limits shows the counts of tokens with --verbose, and no secret', async () => {
    const headers = [
      ['X-RateLimit-Remaining-Tokens', '12'],
      ['ratelimit-limit-tokens', '34'],
      ['X-Session-Token', 'abc'],
    ] as const;
    const { stderr } = await start({ status: 429, headers, pieces: [] }, '-v', '-H', 'X-RateLimit-Token: def');
    expect(stderr).toContain('> X-RateLimit-Token: [redacted]\n');
    expect(stderr).toContain('< X-RateLimit-Remaining-Tokens: 12\n< ratelimit-limit-tokens: 34\n');
    expect(stderr).toContain('< X-Session-Token: [redacted]\n');
  });

  it.each([
    [1, 'Monthly quota exhausted'],
    [1, '{"error":{"message":"limit","type":"insufficient_quota","param":null,"code":null}}'],
    [1, '{"error":{"message":"limit","type":"x","param":"model","code":"insufficient_quota"}}'],
    [1, '{"detail":[{"loc":["body"],"msg":"Quota exceeded","type":"x"}]}'],
    [1, '{"detail":{"message":"limit","code":"quota_exceeded"}}'],
    [1, '{"reason":"limit","error_code":"QUOTA_EXCEEDED"}'],
    [1, '{"reason":"limit","error_type":"QUOTA_EXCEEDED"}'],
    [1, '{"message":"limit","detail":"monthly quota used up"}'],
    [2, '{"detail":[{"loc":["body"],"msg":"limit","type":"x","input":{"message":"quota"}}]}'],
    [2, '{"message":"limit","start":{"type":"quota"}}'],
  ])('that may name a quota is sent %i times with one retry: %s', async (count, body) => {
    const { send, recorded } = answering(body, 429);
    const args = ['call', 'start', '--project-id', 'a/b', '--op-name', 'x', '--retries', '1'];
    expect((await svc(args, { env, send })).code).toBe(9);
    expect(recorded).toHaveLength(count);
  });

  it('is read only up to a limit', async () => {
    let given = 0;
    const endless: Send = async () => ({
      status: 500,
      statusText: '',
      headers: [],
      body: (async function* () {
        for (; given < 1e9; given += 65536) yield Buffer.alloc(65536, 'e');
      })(),
    });
    const { code } = await svc(['chat', 'x', '--no-stdin'], { env, send: endless });
    expect(code).toBe(6);
    expect(given).toBeLessThanOrEqual(131072);
  });
});

describe('a streamed chat', () => {
  it('is printed as text, for any split into chunks', async () => {
    const all = Buffer.from(`: hello\n\n${text('Grüße ')}${text('👋\n')}${finish()}${done}`);
    for (const size of [1, 2, 3, 7, 1000]) {
      const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
        all.subarray(at * size, (at + 1) * size),
      );
      expect(await ask(stream(...pieces))).toMatchObject({ code: 0, stdout: 'Grüße 👋\n', stderr: '' });
    }
    expect(
      (await ask(stream(text('a').replace('data: ', 'data:').replaceAll('\n', '\r\n'), finish(), done))).stdout,
    ).toBe('a\n');
    expect((await ask(stream(text('a'), finish()))).stdout).toBe('a\n');
  });

  it('is one object with --json, every field merged by its rule', async () => {
    const answer = stream(
      chunk(
        '{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}',
        ',"prompt_token_ids":[1,2],"usage":null',
      ),
      chunk(
        '{"index":1,"delta":{"role":"assistant","reasoning":"h","reasoning_content":"h"},"token_ids":[9007199254740993]}',
      ),
      chunk(
        '{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1.50,"bytes":[97],"top_logprobs":[]}]},"token_ids":[7]}',
      ),
      chunk('{"index":1,"delta":{"reasoning":"m"},"token_ids":[8]}'),
      chunk('{"index":0,"delta":{"content":"b"},"logprobs":{"content":[{"token":"b"}]},"token_ids":[],"new":1}'),
      chunk(
        '{"index":1,"delta":{"tool_calls":[{"index":1,"id":"t1","type":"function","function":{"name":"g","arguments":""}}]}}',
      ),
      chunk(
        '{"index":1,"delta":{"tool_calls":[{"index":0,"id":"t0","type":"function","function":{"name":"f","arguments":"{\\"a\\""}}]}}',
      ),
      chunk('{"index":1,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}'),
      finish('stop', 0),
      finish('tool_calls', 1),
      event('{"choices":[],"usage":{"total_tokens":3.0}}'),
      done,
    );
    const { code, stdout } = await ask(answer, '--json', '--n', '2');
    expect(code).toBe(0);
    expect(stdout).toBe(
      '{"id":"c","object":"chat.completion","created":1.0,"model":"m","choices":[' +
        '{"index":0,"message":{"role":"assistant","content":"ab"},"finish_reason":"stop","logprobs":{"content":[{"token":"a","logprob":-1.50,"bytes":[97],"top_logprobs":[]},{"token":"b"}]},"token_ids":[7],"new":1},' +
        '{"index":1,"message":{"role":"assistant","reasoning":"hm","tool_calls":[{"id":"t0","type":"function","function":{"name":"f","arguments":"{\\"a\\":1}"}},{"id":"t1","type":"function","function":{"name":"g","arguments":""}}]},"token_ids":[9007199254740993,8],"finish_reason":"tool_calls"}],' +
        '"prompt_token_ids":[1,2],"usage":{"total_tokens":3.0}}\n',
    );
  });

  it('is each chunk with --format jsonl', async () => {
    const { stdout } = await ask(
      stream(text('a'), event('{ "choices": [], "n" : 1.0 }'), finish(), done),
      '--format',
      'jsonl',
    );
    expect(stdout.split('\n')[1]).toBe('{"choices":[],"n":1.0}');
    expect(stdout.trim().split('\n')).toHaveLength(3);
  });

  it('shows several choices with headings, tool calls as JSON lines, reasoning once and on stderr', async () => {
    expect(
      (await ask(stream(text('a', 1), text('b', 0), finish('stop', 0), finish('stop', 1), done), '--n', '2')).stdout,
    ).toBe('--- 1\nb\n--- 2\na\n');
    const calls = stream(
      chunk('{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{}"}}]}}'),
      finish('tool_calls'),
      done,
    );
    expect((await ask(calls)).stdout).toBe('{"id":"t","function":{"name":"f","arguments":"{}"}}\n');
    const thinking = stream(
      chunk('{"index":0,"delta":{"reasoning":"hm","reasoning_content":"hm"}}'),
      text('a'),
      finish(),
      done,
    );
    expect(await ask(thinking)).toMatchObject({ stdout: 'a\n', stderr: 'reasoning:\nhm\n\n' });
    expect(await ask(thinking, '-q')).toMatchObject({ stdout: 'a\n', stderr: '' });
    const old = stream(chunk('{"index":0,"delta":{"reasoning_content":"old"}}'), text('a'), finish(), done);
    expect((await ask(old)).stderr).toBe('reasoning:\nold\n\n');
    expect((await ask(old, '--json')).stdout).toContain('"reasoning":"old"');
  });

  it.each([
    ['one index', '"index":0,'],
    ['no index', ''],
  ])('keeps tool calls apart that have %s', async (_, index) => {
    const piece = (fields: string): string => chunk(`{"index":0,"delta":{"tool_calls":[{${index}${fields}}]}}`);
    const answer = stream(
      piece('"id":"c1","function":{"name":"f","arguments":"{"}'),
      piece('"id":"","function":{"name":null,"arguments":"\\"a\\":"}'),
      piece('"id":"other","function":{"arguments":"1}"}'),
      piece('"id":"c2","function":{"name":"g","arguments":"{"}'),
      piece('"function":{"arguments":"}"}'),
      piece('"id":"c1","function":{"name":"f","arguments":" "}'),
      finish('tool_calls'),
      done,
    );
    const { stdout } = await ask(answer, '--json');
    expect(JSON.parse(stdout).choices[0].message.tool_calls).toEqual([
      { id: 'c1', function: { name: 'f', arguments: '{"a":1} ' } },
      { id: 'c2', function: { name: 'g', arguments: '{}' } },
    ]);
  });

  it('reports that the model cut it, and with --verbose how it ended', async () => {
    expect((await ask(stream(text('a'), finish('length'), done))).stderr).toContain('token limit');
    expect((await ask(stream(text('a'), finish('content_filter'), done))).stderr).toContain('content filter');
    const { stderr } = await ask(
      stream(text('a'), finish(), event('{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}'), done),
      '-v',
    );
    expect(stderr).toContain('prompt tokens: 3\ncompletion tokens: 4\nfinish reasons: stop\n');
    expect(stderr).toContain('> POST /v1/chat/completions\n');
    expect(stderr).toContain('> Authorization: Bearer [redacted]\n');
    expect(stderr).toContain('< 200\n');
  });

  it.each<[string, Answer, number, string, RegExp]>([
    [
      'an error event',
      stream(text('a'), event('{"error":{"message":"overloaded"}}'), done),
      11,
      'a\n',
      /ended the stream with an error: overloaded/,
    ],
    [
      'one with a code',
      stream(text('a'), event('{"error":{"message":"m","code":429}}'), done),
      9,
      'a\n',
      /^svc: https:\/\/svc.test returned 429 in the stream: m\n {2}the request was applied\n {2}if you run it again, you may be charged twice\n/m,
    ],
    [
      'one with a code in place of the first chunk',
      stream(event('{"error":{"message":"m","code":429}}'), done),
      9,
      '',
      /^svc: https:\/\/svc.test returned 429 in the stream: m\n {2}run the command again later\n/m,
    ],
    [
      'one with a status of a gateway',
      stream(event('{"error":{"message":"m","code":502}}')),
      8,
      '',
      /returned 502 in the stream: m; the request may have been applied\n {2}check the status page or the log of the service; if you run it again, you may be charged twice/,
    ],
    [
      'a flat one',
      stream(event('{"object":"error","message":"m","code":401}')),
      4,
      '',
      /rejected the token from SVC_TOKEN \(profile "default"\): 401 in the stream: m\n {2}correct or unset SVC_TOKEN;/,
    ],
    ['[DONE] without a finish reason', stream(text('a'), done), 11, 'a\n', /without a finish reason/],
    ['the end without a finish reason', stream(text('a')), 11, 'a\n', /without a finish reason/],
    ['a cut', stream(text('a'), new Error('reset')), 11, 'a\n', /stream from \S+ was cut: reset/],
    ['a cut before the first event', stream(': ping\n\n', new Error('reset')), 8, '', /no response came: reset/],
    [
      'a cut inside the first event',
      stream('data: {"cho', new Error('reset')),
      11,
      '',
      /stream from \S+ was cut: reset/,
    ],
    ['nothing at all', stream(), 11, '', /the response from \S+ is empty/],
    ['a comment alone', stream(': ping\n\n'), 11, '', /the stream from \S+ is empty/],
    ['[DONE] alone', stream(done), 11, '', /the stream from \S+ is empty/],
    ['a cut inside an event', stream(text('a'), 'data: {"cho'), 11, 'a\n', /stream from \S+ was cut inside an event/],
    ['a cut inside an event after the end', stream(text('a'), finish(), 'data: {"cho'), 0, 'a\n', /^$/],
    ['an invalid event after the end', stream(text('a'), finish(), event('{"cho'), done), 11, 'a\n', /not JSON/],
    ['an event that is not JSON', stream(text('a'), event('{"a":')), 11, 'a\n', /not JSON/],
    ['an event with NaN', stream(event('{"a":NaN}')), 11, '', /ended without a finish reason/],
    ['one of two choices missing', stream(text('a'), finish('stop', 0), done), 0, 'a\n', /^$/],
  ])('%s', async (_, answer, code, stdout, message) => {
    const result = await ask(answer);
    expect({ code: result.code, stdout: result.stdout }).toEqual({ code, stdout });
    expect(result.stderr).toMatch(message);
  });

  it('ends 2 s after the last finish reason, also if the server continues to send usage', async () => {
    const { after, advance } = clock();
    let sent = 0;
    const send: Send = async ({ signal }) => ({
      status: 200,
      statusText: '',
      headers: events,
      body: (async function* () {
        yield Buffer.from(text('a') + finish());
        for (; sent < 50; sent += 1) {
          advance(400);
          signal?.throwIfAborted();
          yield Buffer.from(event(`{"choices":[],"usage":{"completion_tokens":${sent}}}`));
        }
      })(),
    });
    const result = await svc(['chat', 'x', '--no-stdin', '--json'], { env, send, runtime: { after } });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(result.stdout).usage).toEqual({ completion_tokens: 3 });
    expect(sent).toBe(4);
  });

  it('that has one choice of two is complete with and without [DONE]', async () => {
    for (const end of [[], [done]])
      expect(await ask(stream(text('a'), finish('stop', 0), ...end), '--n', '2')).toMatchObject({
        code: 0,
        stdout: 'a\n',
        stderr: expect.stringContaining('the service returned 1 of 2 requested choices'),
      });
    const cut = await ask(stream(text('a'), finish('stop', 0), new Error('reset')), '--n', '2');
    expect(cut).toMatchObject({ code: 11, stdout: 'a\n', stderr: expect.stringContaining('was cut: reset') });
  });

  it.each([
    ['{"error":{"message":"too hot","code":400,"param":"temperature"}}', 5, 'returned 400 in the stream'],
    ['{"error":{"message":"too hot","code":"429","param":"temperature"}}', 9, 'returned 429 in the stream'],
    ['{"error":{"message":"too hot","code":"42","param":"temperature"}}', 11, 'ended the stream with an error'],
    ['{"detail":[{"loc":["body","temperature"],"msg":"too hot","type":"x"}]}', 11, 'ended the stream with an error'],
  ])('that ends with an error about a field names its flag: %s', async (error, code, summary) => {
    for (const first of [[], [text('a')]]) {
      const result = await ask(stream(...first, event(error), done), '--temperature', '1', '--no-check');
      expect(result.code).toBe(code);
      // Nothing proves that the request was, or was not, applied if the error is the first event, except for a 429.
      const suffix = first.length > 0 || code === 9 ? '' : '; the request may have been applied';
      expect(result.stderr).toContain(`svc: https://svc.test ${summary}${suffix}\n  --temperature: too hot\n`);
    }
  });

  it.each([
    ['overloaded', ': overloaded'],
    ['{"type":"overloaded"}', ': {"type":"overloaded"}'],
    ['{"error":{"message":"too hot","param":"temperature"}}', '\n  --temperature: too hot'],
  ])('that ends with an event named error reports its text: %s', async (data, reason) => {
    const named = `event: error\ndata: ${data}\n\n`;
    const doubt = '; the request may have been applied';
    const [message, issue = ''] = reason.split('\n');
    for (const [first, stdout, suffix, end] of [
      [[], '', doubt, 'if you run it again, you may be charged twice'],
      [[text('a')], 'a\n', '', 'the request was applied'],
    ] as const) {
      const lines = [`svc: https://svc.test ended the stream with an error${message}${suffix}`, issue, `  ${end}`];
      const stderr = `${lines.filter(Boolean).join('\n')}\n`;
      const result = await ask(stream(...first, named), '--temperature', '1', '--no-check', '-q');
      expect(result).toMatchObject({ code: 11, stdout, stderr });
    }
  });

  it.each<[string, readonly string[], number, string]>([
    ['a rate limit', [event('{"error":{"message":"m","code":429}}')], 0, 'b\n'],
    ['an exhausted quota', [event('{"error":{"message":"quota","code":429}}')], 9, ''],
    ['a failure', [event('{"error":{"message":"m","code":500}}')], 6, ''],
    ['text before a rate limit', [text('a'), event('{"error":{"message":"m","code":429}}')], 9, 'a\n'],
  ])(
    'that begins with %s is retried only if the service refused it before any output',
    async (_, first, code, stdout) => {
      const answers = [stream(': ping\n\n', ...first, done), stream(text('b'), finish(), done)];
      const send: Send = (request) => sending(answers.shift() ?? stream())(request);
      const result = await svc(['chat', 'x', '--no-stdin', '--stream'], { env: { ...env, SVC_RETRIES: '1' }, send });
      const retries = code === 0 ? 1 : 0;
      expect(result).toMatchObject({ code, stdout });
      expect(answers).toHaveLength(1 - retries);
      expect(result.stderr.split('https://svc.test returned 429 in the stream; retrying')).toHaveLength(1 + retries);
    },
  );

  it.each([
    ['before its first event', stream(': ping\n\n', new Error('reset')), 8],
    ['inside its first event', stream('data: {"cho', new Error('reset')), 11],
    ['before its first byte', stream(new Error('reset')), 8],
  ])('that is cut %s has its request id in the error', async (_, answer, code) => {
    const result = await ask({ ...answer, headers: [...events, ['X-Request-Id', 'req-1']] });
    expect(result).toMatchObject({ code, stderr: expect.stringContaining('req-1') });
  });

  it('of two choices is cut when one does not finish', async () => {
    const result = await ask(stream(text('a'), text('b', 1), finish('stop', 0), done), '--n', '2');
    expect(result).toMatchObject({ code: 11, stdout: '--- 1\na\n--- 2\nb\n' });
  });

  it('never splits a character, also in a file and in reasoning', async () => {
    const halves = stream(
      chunk('{"index":0,"delta":{"reasoning":"r\\ud83c"}}'),
      chunk('{"index":0,"delta":{"reasoning":"\\udf0d"}}'),
      chunk('{"index":0,"delta":{"content":"a\\ud83c"}}'),
      chunk('{"index":0,"delta":{"content":"\\udf0d b"}}'),
      finish(),
      done,
    );
    expect(await ask(halves)).toMatchObject({ code: 0, stdout: 'a🌍 b\n', stderr: 'reasoning:\nr🌍\n\n' });
    const cwd = temporaryDirectory();
    const args = ['chat', 'x', '--no-stdin', '-o', 'out.txt'];
    await svc(args, { cwd, env: { ...env, SVC_CONFIG_DIR: cwd, SVC_DATA_DIR: cwd }, send: sending(halves) });
    expect(readFileSync(join(cwd, 'out.txt'), 'utf8')).toBe('a🌍 b\n');
  });

  it('joins the text parts of content that is an array, and warns about what it leaves out', async () => {
    const parts = stream(
      chunk('{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}'),
      chunk('{"index":0,"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}'),
      chunk('{"index":0,"delta":{"content":"c"}}'),
      finish(),
      done,
    );
    expect(await ask(parts)).toMatchObject({ code: 0, stdout: 'abc\n', stderr: 'reasoning:\nhm\n\n' });
    const json = await ask(parts, '--json');
    expect(json).toMatchObject({ stdout: expect.stringContaining('"reasoning":"hm","content":"abc"'), stderr: '' });
    const image = stream(chunk('{"index":0,"delta":{"content":[{"type":"image"}]}}'), text('a'), finish(), done);
    expect((await ask(image)).stderr).toMatch(/content part of type image was left out/);
    const call = (args: string) =>
      chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":${args}}}]}}`);
    expect((await ask(stream(call('null'), call('null'), finish(), done), '--json')).stdout).toContain(
      '"function":{"name":"f","arguments":""}',
    );
  });

  it('prints nothing on stdout if nothing was received', async () => {
    for (const format of ['json', 'yaml', 'jsonl', 'text'])
      expect(await ask(stream(), '--stream', '--format', format)).toMatchObject({ code: 11, stdout: '' });
    expect(await ask(stream(text('a'), new Error('reset')), '--json')).toMatchObject({
      code: 11,
      stdout: expect.stringContaining('"content":"a"'),
    });
  });

  it('may have fewer choices than requested, or more', async () => {
    const one = stream(text('a'), finish(), done);
    const note = 'svc: the service returned 1 of 2 requested choices\n';
    expect(await ask(one, '--n', '2')).toMatchObject({ code: 0, stdout: 'a\n', stderr: note });
    const plain = { pieces: ['{"id":"i","model":"m","usage":{},"choices":[{"message":{"content":"a"}}]}'] };
    expect(await ask(plain, '--n', '2')).toMatchObject({ code: 0, stdout: 'a\n', stderr: note });
    const two = stream(text('a'), text('b', 1), text('c'), finish(), finish('stop', 1), done);
    expect(await ask(two)).toMatchObject({ code: 0, stdout: 'ac\n--- 2\nb\n' });
  });

  it('notes tool calls beside a text', async () => {
    const calls = '"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":"{}"}}]';
    const both = stream(chunk(`{"index":0,"delta":{"content":"a",${calls}}}`), finish('tool_calls'), done);
    const result = await ask(both);
    expect(result).toMatchObject({ code: 0, stdout: 'a\n' });
    expect(result.stderr).toBe('svc: the response also calls a tool: f; --json prints the calls\n');
  });

  it('collects the annotations of all chunks; an object stays one', async () => {
    const cite = (annotations: string) => chunk(`{"index":0,"delta":{"content":"a","annotations":${annotations}}}`);
    const cited = stream(cite('[{"n":1.0}]'), cite('null'), cite('[]'), cite('[{"n":2},{"n":3}]'), finish(), done);
    expect((await ask(cited, '--json')).stdout).toContain('"annotations":[{"n":1.0},{"n":2},{"n":3}]');
    const single = stream(cite('{"n":1.0}'), cite('null'), finish(), done);
    expect((await ask(single, '--json')).stdout).toContain('"annotations":{"n":1.0}');
  });

  it('shows function calls of the legacy form, and the transcript of audio', async () => {
    const call = (part: string) => chunk(`{"index":0,"delta":{"content":null,"function_call":{${part}}}}`);
    const calling = stream(
      call('"name":"f"'),
      call('"arguments":"{\\"a\\""'),
      call('"arguments":":1}"'),
      finish(),
      done,
    );
    expect((await ask(calling)).stdout).toBe('{"name":"f","arguments":"{\\"a\\":1}"}\n');
    const audio = (part: string) => chunk(`{"index":0,"delta":{"content":null,"audio":{${part}}}}`);
    const spoken = stream(audio('"id":"a","transcript":"hel"'), audio('"transcript":"lo"'), finish(), done);
    expect(await ask(spoken)).toMatchObject({
      stdout: 'hello\n',
      stderr: 'svc: the response has audio; --json prints it\n',
    });
  });

  it('may be plain JSON in spite of stream: true, and a stream unasked', async () => {
    const plain = {
      pieces: ['{"model":"m","usage":{},"choices":[{"index":0,"message":{"content":"all"},"finish_reason":"stop"}]}'],
    };
    expect(await ask(plain, '--stream')).toMatchObject({ code: 0, stdout: 'all\n' });
    expect(await ask(stream(text('a'), finish(), done), '--no-stream')).toMatchObject({ code: 0, stdout: 'a\n' });
    // Each may also be named as the other.
    expect(await ask({ ...plain, headers: events }, '--stream')).toMatchObject({ code: 0, stdout: 'all\n' });
    const marked = { headers: events, pieces: ['\ufeff', ...plain.pieces] };
    expect(await ask(marked, '--stream')).toMatchObject({ code: 0, stdout: 'all\n' });
    for (const start of ['\n', '\ufeff']) {
      const unnamed = {
        headers: [['Content-Type', 'text/plain']] as HttpHeaders,
        pieces: [start, text('a'), finish(), done],
      };
      expect(await ask(unnamed, '--stream')).toMatchObject({ code: 0, stdout: 'a\n' });
    }
  });
});

describe('a chat that is not streamed', () => {
  const reply = (message: string, reason = 'stop'): Answer => ({
    pieces: [`{"model":"m","usage":{},"choices":[{"index":0,"message":${message},"finish_reason":"${reason}"}]}`],
  });

  it('shows text, tool calls, refusals and reasoning', async () => {
    expect((await ask(reply('{"content":"a\\n"}'))).stdout).toBe('a\n');
    const parts = reply(
      '{"content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"hm"},{"type":"image"},{"type":"image"}]}',
    );
    expect(await ask(parts)).toMatchObject({
      code: 0,
      stdout: 'a\n',
      stderr:
        'reasoning:\nhm\n\nsvc: warning: a content part of type image was left out of the text; --json prints it\n',
    });
    expect((await ask(parts, '--json')).stderr).not.toContain('left out');
  });

  it('shows function calls of the legacy form, and the transcript of audio', async () => {
    const call = '"function_call":{"name":"f", "arguments":"{}"}';
    expect(await ask(reply(`{"content":null,${call}}`))).toMatchObject({
      stdout: '{"name":"f","arguments":"{}"}\n',
      stderr: '',
    });
    expect(await ask(reply(`{"content":"a",${call}}`))).toMatchObject({
      stdout: 'a\n',
      stderr: 'svc: the response also calls a tool: f; --json prints the calls\n',
    });
    const spoken = reply('{"content":null,"audio":{"id":"x","data":"","transcript":"hello"}}');
    expect(await ask(spoken)).toMatchObject({
      stdout: 'hello\n',
      stderr: 'svc: the response has audio; --json prints it\n',
    });
    expect((await ask(spoken, '--json')).stderr).toBe('');
    expect(await ask(reply('{"content":null,"audio":{"data":"AA=="}}'))).toMatchObject({
      stdout: '',
      stderr: 'svc: the response has no text, but it has audio; --json prints it\n',
    });
  });

  it.each([
    ['{"message":{"content":{"a":1}}}', 'content of type object'],
    ['{"message":{"content":5}}', 'content of type number'],
    ['{"message":{"content":true}}', 'content of type boolean'],
    ['"hello"', 'a choice without a message'],
    ['null', 'a choice without a message'],
    ['{}', 'a choice without a message'],
    ['{"message":"hello"}', 'a choice without a message'],
  ])('warns about the choice %s, which has no text', async (choice, description) => {
    const answer: Answer = { pieces: [`{"id":"c","model":"m","choices":[${choice}],"usage":{}}`] };
    const { code, stderr } = await ask(answer);
    expect(code).toBe(0);
    expect(stderr).toContain(`svc: warning: ${description} was left out of the text; --json prints it\n`);
    expect((await ask(answer, '--json')).stderr).not.toContain('left out');
  });

  it('shows tool calls, refusals and reasoning without content', async () => {
    expect(
      (await ask(reply('{"content":null,"tool_calls":[{"id":"1", "n":1.0},{"id":"2"}]}', 'tool_calls'))).stdout,
    ).toBe('{"id":"1","n":1.0}\n{"id":"2"}\n');
    expect(await ask(reply('{"content":null,"refusal":"no"}'))).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('refused: no'),
    });
    expect(await ask(reply('{"content":"a","reasoning":"b","reasoning_content":"b"}'))).toMatchObject({
      stdout: 'a\n',
      stderr: 'reasoning:\nb\n\n',
    });
    expect(
      (await ask(reply('{"content":"a","refusal":null,"audio":null,"tool_calls":[],"function_call":null}'))).stderr,
    ).toBe('');
  });
});
