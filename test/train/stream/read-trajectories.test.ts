import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TextForm } from '../../../src/train/stream/reader.ts';
import { bytesIn, eventsIn } from './events.ts';

const cases: readonly { name: string; form?: TextForm; text: string; events: readonly string[] }[] = [
  { name: 'nothing', text: '', events: [] },
  { name: 'whitespace', text: ' \r\n\t', events: [] },
  { name: 'an empty list', text: '[]', events: [] },
  {
    name: 'a list of groups',
    text: '[ {"trajectories":[{"reward":1}, {} ]},\n{"trajectories" : []}]',
    events: [
      'group 1:3 (2)',
      'text 1:3 (2) {"trajectories":[',
      'trajectory 1:20 (19) {"reward":1}',
      'between , ',
      'trajectory 1:34 (33) {}',
      'between  ',
      'text 1:37 (36) ]}',
      'end',
      'group 2:1 (40)',
      'text 2:1 (40) {"trajectories" : [',
      'text 2:20 (59) ]}',
      'end',
    ],
  },
  {
    name: 'groups one after the other, one over several lines',
    text: '{"trajectories":[1]}\n{"a":"\\"]}é",\n "trajectories":["é",2],"b":{}}{"trajectories":0}',
    events: [
      'group 1:1 (0)',
      'text 1:1 (0) {"trajectories":[',
      'trajectory 1:18 (17) 1',
      'text 1:19 (18) ]}',
      'end',
      'group 2:1 (21)',
      'text 2:1 (21) {"a":"\\"]}é",\n "trajectories":[',
      'trajectory 3:18 (53) "é"',
      'between ,',
      'trajectory 3:22 (58) 2',
      'text 3:23 (59) ],"b":{}}',
      'end',
      'group 3:32 (68)',
      'text 3:32 (68) {"trajectories":0}',
      'end',
    ],
  },
  {
    name: 'trajectories that are alone, and what is none',
    text: '{"reward":1,"metadata":{"trajectories":[]}}\n["x",[{}]] 17\ntrue',
    events: [
      'trajectory 1:1 (0) alone {"reward":1,"metadata":{"trajectories":[]}}',
      'trajectory 2:2 (45) in a list "x"',
      'trajectory 2:6 (49) in a list [{}]',
      'trajectory 2:12 (55) alone 17',
      'trajectory 3:1 (58) alone true',
    ],
  },
  {
    name: 'a name that is written with escapes, and twice',
    text: '{"tr\\u0061jectories":[1],"trajectories":[2]}',
    events: [
      'group 1:1 (0)',
      'text 1:1 (0) {"tr\\u0061jectories":[',
      'trajectory 1:23 (22) 1',
      'text 1:24 (23) ],"trajectories":[',
      'trajectory 1:42 (41) 2',
      'text 1:43 (42) ]}',
      'end',
    ],
  },
  {
    name: 'a whole body after a byte order mark',
    form: 'body',
    text: '\ufeff {"trajectory_groups":[ {"trajectories":[{}]} , 5],\n"model_id":"m"}\n',
    events: [
      'text 1:1 (3)  {"trajectory_groups":[',
      'between  ',
      'group 1:25 (27)',
      'text 1:25 (27) {"trajectories":[',
      'trajectory 1:42 (44) {}',
      'text 1:44 (46) ]}',
      'end',
      'between  , ',
      'group 1:49 (51)',
      'text 1:49 (51) 5',
      'end',
      'text 1:50 (52) ],\n"model_id":"m"}\n',
    ],
  },
  {
    name: 'a body whose groups are no list',
    form: 'body',
    text: '{"trajectory_groups":{"trajectories":[]}}',
    events: ['text 1:1 (0) {"trajectory_groups":{"trajectories":[]}}'],
  },
];

const wrong: readonly { name: string; form?: TextForm; text: string; says: string }[] = [
  {
    name: 'a list that ends early',
    text: '[{"trajectories":[]}',
    says: '1:21 (20) invalid JSON: unexpected end of input',
  },
  { name: 'a value that ends early', text: '{"a":[1', says: '1:8 (7) invalid JSON: unexpected end of input' },
  { name: 'a string that ends early', text: '{"a":"é', says: '1:8 (8) invalid JSON: the text ends inside a string' },
  { name: 'no comma', text: '[{}\n{}]', says: '2:1 (4) invalid JSON: expected "," or "]", found "{"' },
  { name: 'a last comma', text: '[{},\n]', says: '1:4 (3) invalid JSON: a comma after the last element; remove it' },
  {
    name: 'a last comma in a group',
    text: '{"trajectories":[],}',
    says: '1:19 (18) invalid JSON: a comma after the last',
  },
  { name: 'a comma at first', text: '[,{}]', says: '1:2 (1) invalid JSON: expected a value, found ","' },
  { name: 'a key without quotes', text: "{'a':1}", says: '1:2 (1) invalid JSON: single quotes are not JSON' },
  {
    name: 'a key that is none',
    text: '{é:1}',
    says: '1:2 (1) invalid JSON: expected a key in double quotes, found "é',
  },
  { name: 'no colon', text: '{"a" 1}', says: '1:6 (5) invalid JSON: expected ":", found "1"' },
  { name: 'no value', text: '{"a":}', says: '1:6 (5) invalid JSON: expected a value, found "}"' },
  { name: 'a bracket too many', text: '{}\n}', says: '2:1 (3) invalid JSON: expected a value, found "}"' },
  {
    name: 'two bodies',
    form: 'body',
    text: '{}\n{}',
    says: '2:1 (3) invalid JSON: expected the end of the input, found "{"',
  },
  { name: 'no body', form: 'body', text: ' ', says: '1:2 (1) invalid JSON: the text is empty' },
  { name: 'a list for a body', form: 'body', text: ' [1]', says: '1:2 (1) must be an object, not an array' },
  { name: 'a word for a body', form: 'body', text: 'nul', says: '1:4 (3) invalid JSON: unexpected end of input' },
  {
    name: 'a body for groups',
    text: '{"model_id":"m","trajectory_groups":[',
    says: '1:1 (0) is a whole body, not a group; give the file with -f',
  },
  { name: 'UTF-16', text: '\ufeff{}', says: '1:1 (0) invalid JSON: this is UTF-16' },
];

describe('readTrajectories', () => {
  it.each(cases)('reads $name, for any split into chunks', async ({ text, form = 'groups', events }) => {
    const bytes = Buffer.from(text);
    expect(await eventsIn([bytes], form)).toEqual(events);
    for (let at = 0; at <= bytes.length; at += 1)
      expect(await eventsIn([bytes.subarray(0, at), bytes.subarray(at)], form)).toEqual(events);
    expect(
      await eventsIn(
        Array.from(bytes, (byte) => Buffer.of(byte)),
        form,
      ),
    ).toEqual(events);
  });

  it.each(wrong)(
    'reports where $name is invalid, for any split into chunks',
    async ({ name, text, form = 'groups', says }) => {
      const bytes = Buffer.from(text, name === 'UTF-16' ? 'utf16le' : 'utf8');
      const [last = ''] = (await eventsIn([bytes], form)).slice(-1);
      expect(last.startsWith(`wrong ${says}`), last).toBe(true);
      for (let at = 0; at <= bytes.length; at += 1)
        expect((await eventsIn([bytes.subarray(0, at), bytes.subarray(at)], form)).at(-1)).toBe(last);
    },
  );

  it('finds what JSON.parse finds in bodies of all kinds, and keeps the bytes', async () => {
    const value = fc.jsonValue({ maxDepth: 2 });
    const trajectory = fc.dictionary(fc.string(), value).map(({ trajectories, trajectory_groups, ...rest }) => rest);
    const group = fc.record({ name: value, trajectories: fc.array(fc.oneof(trajectory, value)) });
    const whole = fc.record({ model_id: fc.string(), trajectory_groups: fc.array(group), experimental_config: value });
    await fc.assert(
      fc.asyncProperty(whole, fc.constantFrom(undefined, 1), fc.array(fc.nat()), async (body, indent, cuts) => {
        const bytes = Buffer.from(JSON.stringify(body, null, indent));
        const pieces = cut(bytes, cuts);
        expect((await bytesIn(pieces, 'body')).equals(bytes)).toBe(true);
        expect(await eventsIn(pieces, 'body')).toEqual(await eventsIn([bytes], 'body'));
        const lines = Buffer.from(body.trajectory_groups.map((one) => JSON.stringify(one, null, indent)).join('\n'));
        expect(await eventsIn(cut(lines, cuts), 'groups')).toEqual(await eventsIn([lines], 'groups'));
        const inFile = (await eventsIn([lines], 'groups')).filter((event) => event.startsWith('trajectory'));
        const values = inFile.map((event) => JSON.parse(event.replace(/^\S+ \S+ \S+ /, '')));
        const runs = body.trajectory_groups.flatMap(({ trajectories }) => trajectories);
        expect(values).toEqual(JSON.parse(JSON.stringify(runs)));
      }),
      { numRuns: 300 },
    );
  });
});

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = cuts.map((place) => place % (bytes.length + 1)).sort((left, right) => left - right);
  return [0, ...places].map((start, at) => bytes.subarray(start, places[at] ?? bytes.length));
}
