import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import type { Field, Fields, Shape } from '../../src/fields/field.ts';
import { rootOf } from '../../src/json/json-node.ts';
import { parseJson } from '../../src/json/parse-json.ts';
import { chatResponseFields } from '../../src/operations/chat-response-fields.ts';
import { foldStream } from '../../src/results/fold-stream.ts';
import { run } from '../support/process.ts';
import { listening } from '../support/secure-servers.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';
import { independentFold, lostField, silentLosses } from './independent-fold.ts';
import { chunksOf, eventsOf, features, forms, type Json, type JsonObject } from './recorded-streams.ts';

const streams = forms.flatMap((form) =>
  features.map((feature) => {
    const chunks = chunksOf(form, feature);
    return { name: `${feature.name} from ${form.name}`, form: form.name, chunks, events: eventsOf(form, chunks) };
  }),
);

const chunkings: readonly ((bytes: Buffer) => Buffer[])[] = [
  (bytes) => [bytes],
  (bytes) =>
    bytes
      .toString('latin1')
      .split(/(?<=\n\n)/)
      .map((text) => Buffer.from(text, 'latin1')),
  (bytes) => slices(bytes, (at) => 1 + ((at * 7) % 61)),
];

// Byte by byte, for streams of each form: half a million writes take most of the time.
const BYTEWISE_EVERY = 8;
const responses = streams.flatMap(({ events, ...stream }, at) => [
  ...chunkings.map((chunked) => ({ ...stream, pieces: chunked(Buffer.from(events)) })),
  ...(at % BYTEWISE_EVERY === 0 ? [{ ...stream, pieces: slices(Buffer.from(events), () => 1) }] : []),
]);

function slices(bytes: Buffer, lengthAt: (at: number) => number): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += found.at(-1)?.length ?? 0)
    found.push(bytes.subarray(at, at + lengthAt(at)));
  return found;
}

it('the fold of a recorded stream equals an independent one, and no value is lost without a warning', async () => {
  expect(streams.length).toBeGreaterThan(325);
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => {
      const at = Number(/"(\d+)"/.exec(text)?.[1]);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      for (const piece of responses[at]?.pieces ?? []) response.write(piece);
      response.end();
    });
  });
  const env = { SVC_TOKEN: 't', SVC_MODEL: 'm', SVC_BASE_URL: `http://127.0.0.1:${await listening(server)}` };
  const cwd = temporaryDirectory();
  const requests = responses.map((_, at) =>
    JSON.stringify({ stream: true, messages: [{ role: 'user', content: String(at) }] }),
  );
  const { stderr } = await run(['chat', '--batch', '-', '-o', 'out.jsonl', '-q'], {
    env,
    cwd,
    stdin: requests.join('\n'),
  });
  const lines = readFileSync(join(cwd, 'out.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.length, stderr).toBe(requests.length);
  for (const line of lines) {
    const { name = '', chunks = [] } = responses[line.line - 1] ?? {};
    const { response, lost } = independentFold(chunks);
    const named = (line.warnings ?? []).map(lostField).sort();
    const silent = silentLosses(chunks, line.response ?? {}, named);
    const found = { exit: line.exit_code, response: line.response, named, silent };
    expect(found, name).toEqual({ exit: 0, response, named: lost, silent: [] });
  }
  if (process.env.SVC_FIGURES) process.stdout.write(`${streams.length} streams, ${lines.length} responses\n`);
});

it('the text that is printed as it arrives is that of the response', async () => {
  const shown = streams.filter(({ form }) => ['OpenAI', 'Mistral', 'OpenRouter', 'Perplexity'].includes(form));
  for (const { name, chunks, events } of shown) {
    const setting = {
      env: { SVC_TOKEN: 't', SVC_MODEL: 'm', SVC_BASE_URL: 'http://svc.test' },
      send: streaming(events),
    };
    const { code, stdout, stderr } = await svc(['chat', 'x', '--stream', '--allow-http', '--no-stdin'], setting);
    const choices = Object(independentFold(chunks).response.choices) as readonly { readonly message: JsonObject }[];
    const texts = choices.map(({ message }) => textOf(message));
    // The choice that arrives first is printed first.
    const lines = (printed: string): string[] =>
      printed
        .split('\n')
        .filter((line) => !/^(?:--- \d)?$/.test(line))
        .sort();
    expect({ code, lines: lines(stdout) }, `${name}: ${stderr}`).toEqual({ code: 0, lines: lines(texts.join('\n')) });
    const reasoning = choices[0]?.message.reasoning;
    if (reasoning) expect(stderr.replaceAll(/\n*reasoning:\n/g, ''), name).toContain(reasoning);
  }
});

function streaming(events: string) {
  return async () => ({
    status: 200,
    statusText: 'OK',
    headers: [['content-type', 'text/event-stream']] as const,
    body: Readable.from(slices(Buffer.from(events), (at) => 1 + ((at * 7) % 61))),
  });
}

function textOf({ content, audio, tool_calls: calls, function_call: legacy }: JsonObject): string {
  const text = typeof content === 'string' && content !== '' ? content : Object(audio).transcript;
  return (
    text ||
    [...(Array.isArray(calls) ? calls : []), ...(legacy ? [legacy] : [])].map((call) => JSON.stringify(call)).join('\n')
  );
}

it('of the defined fields, the fold of all chunks equals the same response sent whole', async () => {
  const whole = sampleOf({ type: 'object', fields: chatResponseFields }, 'response', 2) as JsonObject;
  const chunks = splitObject(whole, chatResponseFields);
  expect(chunks.length).toBeGreaterThan(20);
  const nodes = chunks.map((chunk) => rootOf(parseJson(JSON.stringify(chunk))));
  const { doc, warnings } = await foldStream(Readable.from(nodes), chatResponseFields, {});
  expect(warnings).toEqual([]);
  expect(JSON.parse(doc.bytes.toString())).toEqual(whole);
});

let samples = 0;

// A value with every defined field, and `count` elements in each array; no two texts or numbers are equal.
function sampleOf(shape: Shape, name: string, count: number): Json {
  samples += 1;
  if (name === 'object') return 'chat.completion';
  if (shape.type === 'list')
    return Array.from({ length: count }, (_, index) => {
      const item = sampleOf(shape.of, `one of ${name}`, count);
      return typeof item === 'object' && item !== null && 'index' in item ? { ...item, index } : item;
    });
  if (shape.type === 'object') {
    const fields = Object.entries(shape.fields ?? { inner: { type: 'string' } as Field });
    return Object.fromEntries(fields.map(([key, field]) => [key, sampleOf(field, key, count)]));
  }
  return shape.type === 'string' ? `${name} ${samples}` : samples;
}

// One chunk for each piece of each value; the pieces of a text that is concatenated are halves.
function splitObject(object: JsonObject, fields: Fields): JsonObject[] {
  return Object.entries(object).flatMap(([name, value]) =>
    splitValue(value, fields[name]).map((piece) => ({ [fields[name]?.streamedAs ?? name]: piece })),
  );
}

function splitValue(value: Json, field: Field | undefined): Json[] {
  const { join } = field ?? {};
  if (field?.type === 'string' && join?.startsWith('concatenate') && typeof value === 'string')
    return [value.slice(0, 3), value.slice(3)];
  if (field?.type === 'object' && join === 'merge') return splitObject(value as JsonObject, field.fields ?? {});
  if (!Array.isArray(value) || (join !== 'append' && join !== 'by-index')) return [value];
  const { fields = {} } = field?.type === 'list' && field.of.type === 'object' ? field.of : {};
  if (join === 'append') return value.map((item) => [item]);
  return value.flatMap((item, index) => splitObject(item, fields).map((piece) => [{ index, ...piece }]));
}
