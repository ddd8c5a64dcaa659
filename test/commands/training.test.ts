import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { HttpRequest } from '../../src/http/message.ts';
import { type Result, type Setting, svc, temporaryDirectory } from '../support/svc.ts';
import { modelId } from '../support/trajectories.ts';

const group = '{"trajectories":[{"reward":1.0} , {"reward":1e2}]}';
const list = (groups: string): string => `{"model_id":"${modelId}","trajectory_groups":[${groups}]}`;
const lines = ['b', 'a', 'b', 'c', 'a'].map((task, at) => `{"reward":${at}.0,"metadata":{"task":"${task}"}}`);
const grouped = [[0, 2], [1, 4], [3]].map((runs) => `{"trajectories":[${runs.map((at) => lines[at]).join(',')}]}`);

function files(contents: { readonly [name: string]: string | Uint8Array }): string {
  const cwd = temporaryDirectory();
  for (const [name, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  return cwd;
}

/** Runs a command line against a service that records every request, repeated ones included. */
async function sendRequest(
  args: readonly string[],
  setting: Setting = {},
): Promise<Result & { body: string; length: unknown }> {
  let body = '';
  let length: unknown;
  const result = await svc(['train', ...args, '--allow-duplicate'], {
    ...setting,
    env: { SVC_BASE_URL: 'http://127.0.0.1:9', SVC_TOKEN: 'tok-en-1', ...setting.env },
    send: async (request: HttpRequest) => {
      const pieces: Uint8Array[] = [];
      length = request.body.length;
      if (request.body instanceof Uint8Array) pieces.push(request.body);
      else for await (const piece of request.body.chunks()) pieces.push(piece);
      body = Buffer.concat(pieces).toString();
      return { status: 200, statusText: 'OK', headers: [], body: Readable.from([Buffer.from(`{"id":"${modelId}"}`)]) };
    },
  });
  return { ...result, body, length };
}

describe('what is sent', () => {
  const contents = {
    'a.json': `[${group}, ${group}]`,
    'b.jsonl': `\ufeff${group}\n\n${group}\n`,
    'pretty.json': JSON.stringify(JSON.parse(group), null, 2),
    'runs.jsonl': lines.join('\n'),
    'more.jsonl': `[${lines[0]}]`,
    'packed.gz': zlib.gzipSync(`${group}\n${group}`),
    'directory/b.jsonl': group.replace('1.0', '2'),
    'directory/B.json': group.replace('1.0', '1'),
    'directory/a.gz': zlib.gzipSync(group.replace('1.0', '3')),
    'directory/notes.txt': 'no',
    'directory/deep/c.json': 'no',
    'job.json': `\ufeff { "trajectory_groups" : [ ${group} ] ,"model_id":"${modelId}", "x":1e400}\n`,
  };
  const pretty = contents['pretty.json'];
  const directoryGroups = ['1', '2', '3'].map((reward) => group.replace('1.0', reward));

  it.each<[string, string[], string, string?]>([
    ['a list and lines', ['a.json', 'b.jsonl'], list([group, group, group, group].join(','))],
    ['@file', ['--trajectory-groups', '@b.jsonl'], list(`${group},${group}`)],
    ['--set', ['--set', `trajectory_groups:=[${group}]`], list(group)],
    ['one over several lines', ['pretty.json'], list(pretty)],
    ['gzip', ['packed.gz'], list(`${group},${group}`)],
    [
      'a directory in bytewise order',
      ['directory'],
      list([directoryGroups[0], directoryGroups[2], directoryGroups[1]].join(',')),
    ],
    ['stdin', ['-'], list(group), group],
    ['gzipped stdin and a file', ['b.jsonl', '-'], list([group, group, group].join(',')), 'gzip'],
    ['trajectories a line, grouped', ['runs.jsonl', '--group-by', 'metadata.task'], list(grouped.join(','))],
    [
      'grouped over several files',
      ['runs.jsonl', 'more.jsonl', '--group-by', 'metadata.task'],
      list(grouped.join(',').replace(lines[2] ?? '', `${lines[2]},${lines[0]}`)),
    ],
    ['nothing', ['empty.json'], list('')],
  ])('%s', async (_, args, wanted, piped) => {
    const cwd = files({ ...contents, 'empty.json': '[]' });
    const stdin = piped === 'gzip' ? zlib.gzipSync(group) : piped;
    const setting = { cwd, ...(stdin === undefined ? {} : { stdin }) };
    const { code, stderr, body, length } = await sendRequest([...args, '--model-id', modelId, '-q'], setting);
    expect({ code, stderr, body, length }).toEqual({ code: 0, stderr: '', body: wanted, length: wanted.length });
    const shown = await sendRequest([...args, '--model-id', modelId, '-q', '--dry-run'], setting);
    expect(shown).toMatchObject({ code: 0, body: '', stdout: wanted });
    // No copy is left behind.
    expect(readdirSync(join(cwd, 'data'))).toEqual(['training-jobs.jsonl']);
  });

  it('a whole body byte for byte, and with flags only the fields that they name change', async () => {
    const cwd = files(contents);
    const whole = contents['job.json'].slice(1);
    expect((await sendRequest(['-f', 'job.json', '-q'], { cwd })).body).toBe(whole);
    expect((await sendRequest(['-q'], { cwd, stdin: contents['job.json'] })).body).toBe(whole);
    expect(
      (await sendRequest(['-f', 'job.json', '--set', 'x:=2', '--experimental-config', '{"ppo":true}', '-q'], { cwd }))
        .body,
    ).toBe(whole.replace('1e400}', '2,"experimental_config":{"ppo":true}}'));
    const replaced = await sendRequest(['-f', 'job.json', 'a.json'], { cwd });
    expect(replaced.body).toBe(whole.replace(`[ ${group} ]`, `[${group},${group}]`));
    expect(replaced.stderr).toContain(
      'svc: warning: the files replace the 1 group of job.json; to send both, give all groups as files\n',
    );
    writeFileSync(join(cwd, 'config.json'), list(''));
    expect((await sendRequest(['-f', 'config.json', 'a.json'], { cwd })).stderr).not.toContain('replace');
  });

  it('an array without groups is sent, with a warning', async () => {
    const result = await sendRequest(['no.json', '--model-id', modelId], { cwd: files({ 'no.json': '[]' }) });
    expect(result.stderr).toContain(
      'warning: trajectory_groups: contains no group, so the job contains no training signal',
    );
    expect(result.code).toBe(0);
  });

  it.each(['', '\n \n', '\ufeff\n'])(
    'files without any text are no job, unless another has a group: %j',
    async (text) => {
      const cwd = files({ 'empty.jsonl': text, 'b.jsonl': text, 'a.jsonl': group });
      const sent = async (...args: string[]) => sendRequest([...args, '--model-id', modelId], { cwd });
      const { code, stderr, body } = await sent('empty.jsonl', 'b.jsonl');
      expect([code, stderr, body]).toEqual([
        3,
        expect.stringContaining('the input is empty; write a group per line'),
        '',
      ]);
      expect((await sent('empty.jsonl', 'a.jsonl')).code).toBe(0);
      expect((await sent('empty.jsonl', '--no-check')).code).toBe(0);
    },
  );

  it('--curl: curl reads a long body from svc itself', async () => {
    const cwd = files({ "it's.jsonl": `${group}\n`.repeat(10_000) });
    const { code, stdout } = await sendRequest(["it's.jsonl", '--model-id', modelId, '--curl'], { cwd });
    expect(code).toBe(0);
    expect(stdout).toContain(
      `svc train 'it'\\''s.jsonl' --model-id ${modelId} --allow-duplicate --dry-run --quiet --output - |\ncurl -sS`,
    );
    expect(stdout).toContain('-X POST -T -\n');
  });
});

describe('what is not sent', () => {
  const contents = {
    'ok.jsonl': group,
    'runs.jsonl': lines.join('\n'),
    'bad.jsonl': `${group}\n{"trajectories":[{"reward":"x"},\n {"rewrd":1},{"reward":nul}]}`,
    'utf8.jsonl': Buffer.from([...Buffer.from('{"trajectories":[{"a":"'), 0xc3, 0x28, 0x22]),
    'half.gz': zlib.gzipSync(group.repeat(1000)).subarray(0, 60),
    'some.zst': Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0]),
    'job.json': list(group),
    'bare.jsonl': '{"reward":1}\n{"metadata":{"task":1}}',
    'none/notes.txt': '',
  };

  it.each<[string, string[], number, RegExp, string?]>([
    [
      'a value of the wrong kind',
      ['bad.jsonl'],
      3,
      /bad\.jsonl:2:28 trajectory_groups\[1\]\.trajectories\[0\]\.reward: must be a number/,
    ],
    ['no JSON', ['bad.jsonl'], 3, /bad\.jsonl:3:24 trajectory_groups: invalid JSON/],
    ['no JSON, unchecked', ['bad.jsonl', '--no-check'], 3, /bad\.jsonl:3:24 trajectory_groups: invalid JSON/],
    ['invalid UTF-8', ['utf8.jsonl'], 3, /utf8\.jsonl:1:24 trajectory_groups: invalid JSON: invalid UTF-8/],
    ['all files at once', ['bad.jsonl', 'utf8.jsonl'], 3, /bad\.jsonl:3:24[\s\S]*utf8\.jsonl:1:24/],
    [
      'a warning, strictly',
      ['-', '--strict'],
      3,
      /stdin:1:28 .*\.rewrd: .*did you mean reward/,
      '{"trajectories":[{"rewrd": 1}]}',
    ],
    [
      'a trajectory without a group',
      ['runs.jsonl'],
      3,
      /runs\.jsonl:1:1: must be a group[\s\S]*--group-by metadata\.task/,
    ],
    [
      'chats',
      ['-'],
      3,
      /stdin:1:1: must be a group[\s\S]*these look like chat bodies: svc chat --batch -\n/,
      '{"messages":[],"model":"m"}\n',
    ],
    [
      'a whole body in the place of groups',
      ['job.json'],
      3,
      /job\.json:1:1: is a whole body, not a group; give the file with -f/,
    ],
    [
      'a group that has none',
      ['bare.jsonl', '--group-by', 'metadata.task'],
      3,
      /bare\.jsonl:1:1: has no metadata\.task to group by/,
    ],
    [
      'groups to be grouped',
      ['ok.jsonl', '--group-by', 'a'],
      3,
      /ok\.jsonl:1:1: is already a group; leave out --group-by/,
    ],
    ['broken gzip', ['half.gz'], 12, /cannot read half\.gz: it is not valid gzip/],
    ['no such file', ['ok.jsonl', 'gone.jsonl'], 12, /cannot read gone\.jsonl: no such file/],
    ['an empty directory', ['none'], 12, /there is nothing to send in none/],
    ['a name that is empty', [''], 2, /an argument of svc train is empty/],
    ['a second name that is empty', ['ok.jsonl', ''], 2, /an argument of svc train is empty/],
    ['no name after @', ['--trajectory-groups', '@'], 2, /--trajectory-groups @ has no file name/],
    [
      '--set into trajectories',
      ['ok.jsonl', '--set', 'trajectory_groups[0].x=1'],
      2,
      /--set cannot change trajectories/,
    ],
    [
      '--set of the trajectories of a body',
      ['-f', 'job.json', '--set', 'trajectory_groups:=[]'],
      2,
      /--set cannot change trajectories/,
    ],
    ['a path that is none', ['runs.jsonl', '--group-by', '[]'], 2, /--group-by: "\[\]"/],
    [
      'grouping of nothing',
      ['-f', 'job.json', '--group-by', 'a'],
      2,
      /--group-by needs files with one trajectory per line/,
    ],
  ])('%s', async (_, args, code, says, stdin) => {
    const cwd = files(contents);
    const result = await sendRequest(
      [...args, '--model-id', modelId].slice(0, args.includes('-f') ? args.length : undefined),
      {
        cwd,
        ...(stdin === undefined ? {} : { stdin }),
      },
    );
    expect(result).toMatchObject({ code, body: '', stdout: '' });
    expect(result.stderr).toMatch(says);
  });

  it.skipIf('createZstdDecompress' in zlib)('zstd where this Node cannot read it', async () => {
    const { code, stderr } = await sendRequest(['some.zst', '--model-id', modelId], { cwd: files(contents) });
    expect(code).toBe(12);
    expect(stderr).toMatch(/this Node cannot read zstd[\s\S]*zstd -dc some\.zst \| svc train -/);
  });

  it.each(['appended to', 'replaced', 'of the same length'])(
    'a file that is %s after it was checked: exit 12, incomplete',
    async (how) => {
      // More than is read ahead, in few groups.
      const large = (reward: string): string =>
        `{"trajectories":[{"reward":${reward},"note":"${'x'.repeat(10_000)}"}]}\n`.repeat(300);
      const cwd = files({ 'a.jsonl': large('1.0') });
      const path = join(cwd, 'a.jsonl');
      let received = 0;
      const { code, stderr } = await svc(['train', 'a.jsonl', '--model-id', modelId], {
        cwd,
        env: { SVC_BASE_URL: 'http://127.0.0.1:9', SVC_TOKEN: 'tok-en-1' },
        send: async ({ body }) => {
          if (body instanceof Uint8Array) throw new Error('it is not streamed');
          if (how === 'appended to') appendFileSync(path, group);
          if (how === 'replaced') writeFileSync(path, group);
          for await (const piece of body.chunks()) {
            received += piece.length;
            if (how === 'of the same length') writeFileSync(path, large('2.0'));
            expect(received).toBeLessThan(body.length ?? 0);
          }
          throw new Error('it was given away');
        },
      });
      expect({ code, stderr }).toEqual({
        code: 12,
        stderr: expect.stringContaining('a.jsonl was changed after it was checked'),
      });
    },
  );
});
