import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { figure } from '../support/figure.ts';
import { bodyOf, httpAnswer, rawServer } from '../support/raw-server.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';
import { blank, object, string, value } from './random-json.ts';

const env = { SVC_TOKEN: 'tok-en-1', SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1' };
const BESIDE = 4;

const user = '"messages":[{"role":"user","content":"x"}]';
const chat = fc.tuple(blank, value, blank, string, object).map(([a, inner, b, text, more]) => ({
  args: ['chat', '--json'],
  body: `${a}{${b}"x":${inner}${b},${user}, "x" :${more},"y":${text}}${a}`,
}));
const call = fc.tuple(blank, object, object, blank).map(([a, attributes, inputs, b]) => ({
  args: ['call', 'start'],
  body: `${a}{"start":${b}{"project_id":"a/b","op_name":"x","attributes":${attributes},${a}"inputs":${inputs}}}${b}`,
}));

/** Sends a number of random documents of a seed from files and stdin, and expects the same bytes at the server. */
export async function expectUnchanged(count: number, seed: number): Promise<void> {
  const documents = fc.sample(fc.oneof(chat, call), { numRuns: count, seed });
  const queue = documents.entries();
  let bytes = 0;
  const worker = async (): Promise<void> => {
    const cwd = temporaryDirectory();
    const server = await rawServer((socket) =>
      socket.end(httpAnswer('{"id":"1","trace_id":"2","choices":[{"index":0}]}')),
    );
    for (const [at, { args, body }] of queue) {
      const isFile = at % 2 === 0;
      if (isFile) writeFileSync(join(cwd, 'body.json'), body);
      const { code, stderr } = await svc([...args, '--exact', '-q', ...(isFile ? ['-f', 'body.json'] : [])], {
        cwd,
        env: { ...env, SVC_BASE_URL: server.url },
        ...(isFile ? {} : { stdin: body }),
      });
      expect(code, `document ${at}: ${stderr}\n${body}`).toBe(0);
      expect(bodyOf(server.received.pop()).equals(Buffer.from(body)), `document ${at}: ${body}`).toBe(true);
      bytes += Buffer.byteLength(body);
    }
  };
  await Promise.all(Array.from({ length: BESIDE }, worker));
  figure(`${count} documents of seed ${seed}, ${bytes} bytes: all byte-identical at the server`);
}
