import { describe, expect, it } from 'vitest';
import type { Send } from '../../src/http/message.ts';
import { controls, forbiddenIn, formatting } from '../support/controls.ts';
import { event } from '../support/event-stream.ts';
import { figure } from '../support/figure.ts';
import { svc } from '../support/svc.ts';

const env = { SVC_BASE_URL: 'https://svc.test', SVC_TOKEN: 'tok-en-1', SVC_RETRIES: '0' };
const all = [...controls, ...formatting];
const delta = (json: string): string => event(`{"choices":[{"index":0,"delta":${json}}]}`);
const end = event('{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}');

interface Way {
  readonly name: string;
  readonly status?: number;
  readonly type?: string;
  readonly answer: (json: string) => string;
}

const ways: readonly Way[] = [
  { name: 'streamed text', type: 'text/event-stream', answer: (json) => delta(`{"content":${json}}`) + end },
  {
    name: 'streamed reasoning',
    type: 'text/event-stream',
    answer: (json) => delta(`{"reasoning":${json}}`) + end,
  },
  { name: 'text in one piece', answer: (json) => `{"choices":[{"message":{"content":${json}}}]}` },
  { name: 'an error', status: 400, answer: (json) => `{"error":{"message":${json}}}` },
  { name: 'an error in plain text', status: 400, type: 'text/plain', answer: (json) => `no ${JSON.parse(json)}` },
];

// The response, cut in two at an offset.
function cut({ status = 200, type = 'application/json' }: Way, bytes: Buffer, at: number): Send {
  return async () => ({
    status,
    statusText: '',
    headers: [['Content-Type', type]],
    body: (async function* () {
      yield bytes.subarray(0, at);
      yield bytes.subarray(at);
    })(),
  });
}

let tried = 0;

// A cut must not change how a character is printed.
describe.each(ways)('$name, cut before, in and after each character', (way) => {
  it('prints the same and controls nothing', async () => {
    for (const character of all) {
      const bytes = Buffer.from(way.answer(JSON.stringify(`a${character}`)));
      const at = bytes.lastIndexOf(JSON.stringify(character).slice(1, -1));
      const run = async (place: number): Promise<string> => {
        const { stdout, stderr } = await svc(['chat', 'x', '--no-stdin'], {
          env,
          terminal: true,
          send: cut(way, bytes, place),
        });
        tried += 1;
        return stdout + stderr;
      };
      const whole = await run(0);
      expect(forbiddenIn(whole), whole).toEqual([]);
      const from = at === -1 ? bytes.lastIndexOf(character) : at;
      for (let place = from; place <= from + Buffer.byteLength(character); place++)
        expect(await run(place)).toBe(whole);
    }
  });
});

it('is counted', () => {
  figure(`95 characters by ${ways.length} ways with ${tried} cuts: 0 reach a terminal`);
  expect(tried).toBeGreaterThan(all.length * ways.length);
});
