import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { type Setting, svc, temporaryDirectory } from '../support/svc.ts';

async function scene(files: Readonly<Record<string, string>>) {
  const cwd = temporaryDirectory();
  const bodies: string[] = [];
  const server = await countingServer(
    (body) => JSON.parse(body).start.id,
    (body, response) => {
      bodies.push(body.text);
      const { id, trace_id } = JSON.parse(body.text).start;
      answerJson(response, { id, trace_id });
    },
  );
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  const env = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_BASE_URL: server.url, SVC_PROJECT_ID: 'a/b' };
  const run = (args: readonly string[], setting: Setting = {}) =>
    svc(['call', 'import', ...args], { cwd, env, ...setting });
  return { cwd, bodies, counts: server.counts, run };
}

const span = (at: number, more = '') =>
  `{"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B17${at}","parentSpanId":"${at > 1 ? 'EEE19B7EC3C1B171' : ''}","name":"span ${at}","kind":2,"startTimeUnixNano":"154471266012345678${at}","endTimeUnixNano":"1544712661000000000"${more}}`;
const document = (...spans: readonly string[]): string =>
  `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"lib","version":"1.0.0"},"spans":[${spans.join(',')}]}]}]}`;
const attributes = `,"attributes":[${[
  '{"key":"text","value":{"stringValue":"a \\"b\\""}}',
  '{"key":"count","value":{"intValue":"9007199254740993"}}',
  '{"key":"number","value":{"intValue":7}}',
  '{"key":"share","value":{"doubleValue":1.50}}',
  '{"key":"ok","value":{"boolValue":true}}',
  '{"key":"list","value":{"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"x"}]}}}',
  '{"key":"map","value":{"kvlistValue":{"values":[{"key":"a","value":{"intValue":"2"}}]}}}',
  '{"key":"none","value":{}}',
].join(',')}]`;

describe('call import', () => {
  it('records each span with its ids, the nanoseconds of its start, and every digit of its attributes', async () => {
    const { bodies, run } = await scene({ 'spans.json': document(span(1), span(2, attributes)) });
    const { code, stderr } = await run(['spans.json', '--concurrency', '1', '-o', 'out.jsonl']);
    expect(code, stderr).toBe(0);
    const [root, child = ''] = bodies;
    expect(JSON.parse(root ?? '').start).toMatchObject({
      project_id: 'a/b',
      op_name: 'span 1',
      id: 'eee19b7ec3c1b171',
      trace_id: '5b8efff798038103d269b633813fc60c',
      started_at: '2018-12-13T14:51:00.123456781Z',
      otel_dump: { spanId: 'EEE19B7EC3C1B171', resource: { attributes: [{}] }, scope: { name: 'lib' } },
    });
    expect(root).not.toContain('"parent_id"');
    expect(JSON.parse(child).start.parent_id).toBe('eee19b7ec3c1b171');
    expect(child).toContain(
      '"attributes":{"text":"a \\"b\\"","count":9007199254740993,"number":7,"share":1.50,"ok":true,"list":[1,"x"],"map":{"a":2},"none":null}',
    );
    expect(child).toContain('"startTimeUnixNano":"1544712660123456782"');
  });

  it.for([
    ['lines of a collector', `${document(span(1))}\n\n${document(span(2), span(3))}\n`],
    ['a document on many lines', JSON.stringify(JSON.parse(document(span(1), span(2), span(3))), null, 2)],
    ['stdin', document(span(1), span(2), span(3))],
  ])('reads %s', async ([name = '', text = '']) => {
    const { counts, run } = await scene({ 'spans.json': text });
    const { code, stderr } = await (name === 'stdin' ? run([], { stdin: text }) : run(['spans.json']));
    expect(code, stderr).toBe(0);
    expect([...counts.values()]).toEqual([1, 1, 1]);
  });

  it('sends a span once when it is resumed, and again under the same id otherwise', async () => {
    const { cwd, counts, run } = await scene({ 'spans.json': document(span(1), span(2)) });
    expect((await run(['spans.json', '-o', 'out.jsonl', '--limit', '1'])).code).toBe(0);
    expect((await run(['spans.json', '-o', 'out.jsonl', '--limit', '9', '--resume'])).code).toBe(0);
    expect([...counts.values()]).toEqual([1, 1]);
    expect(readFileSync(join(cwd, 'out.jsonl'), 'utf8').trimEnd().split('\n')).toHaveLength(2);
  });

  it.for([
    ['{"resourceMetrics":[]}', 3, 'no spans in spans.json: it has 1 document of metrics'],
    ['{"spanz":[]}', 3, 'spans.json:1 is not OTLP/JSON of traces: it has no "resourceSpans"'],
    ['{"resourceSpans":[', 3, 'spans.json:1 is not OTLP/JSON of traces: unexpected end of input'],
    [`${document(span(1))}\n{"x"\n`, 10, 'line 2 of the file is not OTLP/JSON of traces'],
    [document('{"name":"x"}'), 10, 'the span has no traceId or no spanId'],
    [
      document('{"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B171","startTimeUnixNano":"soon"}'),
      10,
      'no startTimeUnixNano in nanoseconds',
    ],
  ] as const)('rejects %j', async ([text, exitCode, message]) => {
    const { run } = await scene({ 'spans.json': text });
    const { code, stderr } = await run(['spans.json', '-o', 'out.jsonl']);
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: expect.stringContaining(message) });
  });
});
