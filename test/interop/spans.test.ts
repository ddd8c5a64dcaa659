import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { run, serve } from '../support/process.ts';
import { exportSpans, isSdkMissing } from '../support/sdk-spans.ts';
import { temporaryDirectory } from '../support/svc.ts';

const LIMIT_MS = 120_000;

/** The start of a call as the service stored it: JSON text, with every digit. */
type StoredStart = string;

/** Imports text twice into a service, and returns the calls that it has then. */
async function importTwice(text: string): Promise<StoredStart[]> {
  const cwd = temporaryDirectory();
  const { env } = await serve([], { cwd });
  writeFileSync(join(cwd, 'spans.json'), text);
  for (const output of ['first.jsonl', 'second.jsonl']) {
    const args = ['call', 'import', 'spans.json', '--project-id', 'a/b', '--concurrency', '1', '-o', output];
    const { code, stderr } = await run(args, { cwd, env });
    expect(code, stderr).toBe(0);
  }
  const database = new Database(join(cwd, 'data/svc.db'), { readonly: true });
  const rows = database.prepare('select start from calls order by seq').all() as { start: string }[];
  database.close();
  return rows.map(({ start }) => start);
}

const timeOf = ([seconds, nanoseconds]: [number, number]): string =>
  `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(nanoseconds).padStart(9, '0')}Z`;

describe('call import', () => {
  it.skipIf(isSdkMissing)(
    'records what the JavaScript SDK exports, each span once',
    async () => {
      const { bodies, stdout } = await exportSpans();
      const spans = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect([spans.length, bodies.length]).toEqual([3, 2]);
      const [document = ''] = bodies;
      const calls = await importTwice(bodies.map((body) => `${body}\n`).join(''));
      expect(calls.map((start) => JSON.parse(start))).toEqual(
        spans.map(({ spanId, traceId, parentId, name, started, attributes }) =>
          expect.objectContaining({
            id: spanId,
            trace_id: traceId,
            ...(parentId && { parent_id: parentId }),
            op_name: name,
            started_at: timeOf(started),
            attributes,
          }),
        ),
      );
      expect(await importTwice(JSON.stringify(JSON.parse(document), null, 2))).toHaveLength(2);
      figure(`spans: ${spans.length} of the JavaScript SDK, imported twice: ${calls.length} calls`);
    },
    LIMIT_MS,
  );

  // As each of these writes them: integers as text or numbers, ids in either case, empty members, and members that are left out.
  it.for([
    [
      'the file exporter of a collector, for spans of Python',
      '{"resourceSpans":[{"resource":{"attributes":[{"key":"telemetry.sdk.language","value":{"stringValue":"python"}},{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"app"},"spans":[{"traceId":"c0ffee00c0ffee00c0ffee00c0ffee01","spanId":"0000000000000a01","parentSpanId":"","flags":256,"name":"GET /items","kind":2,"startTimeUnixNano":"1700000000999999999","endTimeUnixNano":"1700000001000000000","attributes":[{"key":"gen_ai.usage.input_tokens","value":{"intValue":"12"}},{"key":"sizes","value":{"arrayValue":{"values":[{"intValue":"9223372036854775807"},{"doubleValue":0.1}]}}},{"key":"none","value":{"arrayValue":{}}},{"key":"raw","value":{"bytesValue":"AAEC/w=="}}],"status":{}}]}]}]}\n{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[{"traceId":"c0ffee00c0ffee00c0ffee00c0ffee01","spanId":"0000000000000a02","parentSpanId":"0000000000000a01","name":"select","kind":3,"startTimeUnixNano":"1700000000999999999","endTimeUnixNano":"1700000001000000001","status":{"message":"no rows","code":2}}]}]}]}\n',
      [
        '"op_name":"GET /items","id":"0000000000000a01","trace_id":"c0ffee00c0ffee00c0ffee00c0ffee01","started_at":"2023-11-14T22:13:20.999999999Z","attributes":{"gen_ai.usage.input_tokens":12,"sizes":[9223372036854775807,0.1],"none":[],"raw":"AAEC/w=="}',
        '"op_name":"select","id":"0000000000000a02","trace_id":"c0ffee00c0ffee00c0ffee00c0ffee01","parent_id":"0000000000000a01","started_at":"2023-11-14T22:13:20.999999999Z","attributes":{}',
      ],
    ],
    [
      'the file exporter of a collector, for spans of Go',
      '{"resourceSpans":[{"resource":{"attributes":[{"key":"telemetry.sdk.language","value":{"stringValue":"go"}}]},"scopeSpans":[{"scope":{"name":"net/http","version":"0.49.0"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","traceState":"a=1","parentSpanId":"","name":"HTTP GET","kind":3,"startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000002","attributes":[{"key":"min","value":{"intValue":"-9223372036854775808"}},{"key":"ratio","value":{"doubleValue":"NaN"}},{"key":"map","value":{"kvlistValue":{"values":[{"key":"a","value":{"kvlistValue":{"values":[{"key":"b","value":{"boolValue":false}}]}}}]}}}],"droppedAttributesCount":1,"events":[{"timeUnixNano":"1700000000000000001","name":"e"}],"status":{"code":1}}],"schemaUrl":"https://opentelemetry.io/schemas/1.24.0"}],"schemaUrl":"https://opentelemetry.io/schemas/1.24.0"}]}\n',
      [
        '"op_name":"HTTP GET","id":"b7ad6b7169203331","trace_id":"0af7651916cd43dd8448eb211c80319c","started_at":"2023-11-14T22:13:20.000000001Z","attributes":{"min":-9223372036854775808,"ratio":"NaN","map":{"a":{"b":false}}}',
      ],
    ],
    [
      'the logging exporter of Java, without a document around them',
      '{"resource":{"attributes":[{"key":"telemetry.sdk.language","value":{"stringValue":"java"}}]},"scopeSpans":[{"scope":{"name":"one","version":"1","attributes":[]},"spans":[{"traceId":"12345678876543211234567887654321","spanId":"8765432112345678","name":"first","kind":1,"startTimeUnixNano":"100","endTimeUnixNano":"1100","attributes":[{"key":"lives","value":{"intValue":"9"}}],"events":[],"links":[],"status":{"code":1},"flags":257}]},{"scope":{"name":"two","attributes":[]},"spans":[{"traceId":"12345678876543211234567887654321","spanId":"8765432112345679","parentSpanId":"8765432112345678","name":"second","kind":3,"startTimeUnixNano":"500","endTimeUnixNano":"1501","attributes":[],"events":[],"links":[],"status":{"code":2},"flags":257}]}]}\n',
      [
        '"op_name":"first","id":"8765432112345678","trace_id":"12345678876543211234567887654321","started_at":"1970-01-01T00:00:00.000000100Z","attributes":{"lives":9}',
        '"op_name":"second","id":"8765432112345679","trace_id":"12345678876543211234567887654321","parent_id":"8765432112345678","started_at":"1970-01-01T00:00:00.000000500Z","attributes":{}',
      ],
    ],
    [
      'the example of the specification, with times as numbers',
      '{\n  "resourceSpans": [\n    {\n      "scopeSpans": [\n        {\n          "scope": { "name": "my.library" },\n          "spans": [\n            {\n              "traceId": "5B8EFFF798038103D269B633813FC60C",\n              "spanId": "EEE19B7EC3C1B174",\n              "parentSpanId": "EEE19B7EC3C1B173",\n              "name": "I\'m a server span",\n              "startTimeUnixNano": 1544712660123456789,\n              "kind": 2\n            }\n          ]\n        }\n      ]\n    }\n  ]\n}\n',
      [
        '"op_name":"I\'m a server span","id":"eee19b7ec3c1b174","trace_id":"5b8efff798038103d269b633813fc60c","parent_id":"eee19b7ec3c1b173","started_at":"2018-12-13T14:51:00.123456789Z","attributes":{}',
      ],
    ],
  ] as const)('records the spans of %s, each once', { timeout: LIMIT_MS }, async ([, text, expected]) => {
    const calls = await importTwice(text);
    expect(calls.map((start) => start.slice(1, start.indexOf(',"inputs"')))).toEqual(expected);
  });
});
