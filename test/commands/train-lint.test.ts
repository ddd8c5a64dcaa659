import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Setting, svc, temporaryDirectory } from '../support/svc.ts';

const choice = '"messages_and_choices":[{"message":{},"logprobs":{"content":[{"token":"token_id:1","logprob":-1}]}}]';
const run = (reward: string): string => `{"reward":${reward},${choice}}`;
const group = (...rewards: readonly string[]): string => `{"trajectories":[${rewards.map(run).join(',')}]}\n`;

const files = {
  'empty.jsonl': '\n',
  'good.jsonl': group('0', '1') + group('0.25', '0.5', '12345678901234567890'),
  'equal.jsonl': group('1', '1.0') + group('0', '1'),
  'one.jsonl': group('1'),
  'nan.jsonl': group('0', '1') + group('NaN', '1'),
  'bad.jsonl': `${group('0', '1')}{"trajectories":[{"reward":}]}\n`,
  'alone.jsonl': `{"metadata":{"task":"a"},${run('0').slice(1)}\n{"metadata":{"task":"a"},${run('1').slice(1)}\n`,
  'body.json': `{"model_id":"m","trajectory_groups":[${group('1', '1')}],"experimental_config":{}}`,
};

async function lint(args: readonly string[], setting: Setting = {}) {
  const cwd = temporaryDirectory();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  return svc(['train', 'lint', ...args], { cwd, ...setting });
}

describe('svc train lint', () => {
  it.each<[string, readonly string[], number, Setting]>([
    ['nothing wrong', ['good.jsonl'], 0, {}],
    ['findings that nobody asked about', ['equal.jsonl'], 0, {}],
    ['--fail-on a kind there is none of', ['equal.jsonl', '--fail-on', 'nan,single-trajectory'], 0, {}],
    ['--fail-on', ['equal.jsonl', '--fail-on=zero-variance'], 13, {}],
    ['--fail-on with several', ['equal.jsonl', '--fail-on', 'nan, zero-variance'], 13, {}],
    ['--fail-on given twice', ['one.jsonl', '--fail-on', 'nan', '--fail-on', 'single-trajectory'], 13, {}],
    ['--fail-on any', ['one.jsonl', '--fail-on', 'any'], 13, {}],
    ['an empty file', ['empty.jsonl'], 0, {}],
    ['--fail-on any, and an empty file', ['empty.jsonl', '--fail-on', 'any'], 13, {}],
    ['--fail-on no-groups with an empty file among others', ['empty.jsonl', 'good.jsonl', '--fail-on', 'any'], 0, {}],
    ['--fail-on any, and nothing', ['good.jsonl', '--fail-on', 'any'], 0, {}],
    ['several files', ['good.jsonl', 'equal.jsonl', '--fail-on', 'zero-variance'], 13, {}],
    ['NaN', ['nan.jsonl'], 3, {}],
    ['NaN, and --fail-on it', ['nan.jsonl', '--fail-on', 'nan'], 3, {}],
    ['bad JSON', ['bad.jsonl'], 3, {}],
    ['trajectories without --group-by', ['alone.jsonl'], 3, {}],
    ['trajectories and --group-by', ['alone.jsonl', '--group-by', 'metadata.task', '--fail-on', 'any'], 0, {}],
    ['--group-by what is not there', ['alone.jsonl', '--group-by', 'metadata.other'], 3, {}],
    ['a whole body', ['-f', 'body.json', '--fail-on', 'zero-variance'], 13, {}],
    ['a whole body as a file', ['body.json'], 3, {}],
    ['stdin', ['-', '--fail-on', 'zero-variance'], 13, { stdin: files['equal.jsonl'] }],
    ['a file that is not there', ['none.jsonl'], 12, {}],
    ['no file', [], 2, {}],
    ['a kind that is none', ['good.jsonl', '--fail-on', 'zero'], 2, {}],
    ['a path that is none', ['good.jsonl', '--group-by', '['], 2, {}],
  ])('%s: %j ends with %i', async (_, args, code, setting) => {
    const result = await lint(args, setting);
    expect({ code: result.code }, result.stderr).toEqual({ code });
    const hasReport = code === 0 || code === 3 || code === 13;
    expect(result.stdout !== '').toBe(hasReport);
    if (hasReport) expect(Object.keys(JSON.parse(result.stdout))).toContain('findings');
    expect(result.stderr !== '').toBe(code !== 0 || /^svc: warning: there are no trajectories/.test(result.stderr));
  });

  it('is one JSON object in a pipe, with every digit', async () => {
    const { stdout } = await lint(['good.jsonl', 'equal.jsonl']);
    expect(stdout).toContain('"min":0,"max":12345678901234567890,');
    expect(JSON.parse(stdout)).toMatchObject({
      bytes: files['good.jsonl'].length + files['equal.jsonl'].length,
      groups: 4,
      trajectories: 9,
      trajectories_per_group: { min: 2, mean: 2.25, max: 3 },
      idle_groups: 1,
      rewards: { count: 9 },
      counts: { 'zero-variance': 1, nan: 0 },
      findings: [
        {
          kind: 'zero-variance',
          at: 'equal.jsonl:1:1',
          path: 'trajectory_groups[2]',
          message: 'both rewards are 1',
        },
      ],
      problems: [],
    });
  });

  it.each([
    ['{"choices":[]}', "messages_and_choices: ($prompt + [.]), reward: <reward>, metadata: $task}' out.jsonl"],
    ['{"id":"f"}', 'svc batch report out.jsonl'],
  ])('names the next step for results of a batch: %s', async (response, step) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'out.jsonl'), `{"line":1,"exit_code":0,"applied":"yes","response":${response}}\n`);
    const { code, stderr } = await svc(['train', 'lint', 'out.jsonl'], { cwd });
    expect([code, stderr]).toEqual([3, expect.stringContaining(step)]);
  });

  it('is text on a terminal', async () => {
    const { stdout } = await lint(['equal.jsonl'], { terminal: true });
    expect(stdout).toMatch(/^groups +2 \(1 without a training signal\)$/m);
    expect(stdout).toMatch(/^trajectories +4; per group 2$/m);
    expect(stdout).toMatch(/^rewards +mean 0.75, standard deviation 0.433013 \(within groups 0.25\), min 0, max 1$/m);
    expect(stdout).toMatch(/^ {6}0 {2}1 █{23}\n(.*\n)+ {6}1 {2}3 █{67}$/m);
    expect(stdout).toMatch(
      /^zero-variance \(1 finding\): all rewards .*\n {2}equal.jsonl:1:1 trajectory_groups\[0\]: both/m,
    );
    expect(stdout).not.toMatch(/^nan/m);
    expect((await lint(['equal.jsonl', '--json', '--color', 'never'], { terminal: true })).stdout).toMatch(
      /^\{\n {2}"bytes"/,
    );
  });

  it.each([40, 120])('plots rewards and differences within groups in %i columns', async (columns) => {
    const { stdout } = await lint(['equal.jsonl', '--plot'], { terminal: true, columns });
    const [, rewards = '', differences = ''] = stdout.split('\n\n');
    expect(rewards).toMatch(/^Trajectories by reward, from\n +0 {2}1 █+\n +0.0625 {2}0\n(.*\n)+ +1 {2}3 █+$/);
    expect(differences).toMatch(/^Groups by the standard .*\n +0 {2}1 ░+\n +0.03125 {2}0\n(.*\n)+ +0.5 {2}1 █+$/);
    const bars = stdout.split('\n').filter((line) => /[█░]$/.test(line));
    expect(Math.max(...bars.map((line) => line.length))).toBe(columns - 2);
  });

  it('plots the same when piped, and not as JSON', async () => {
    const piped = await lint(['equal.jsonl', '--plot']);
    expect(piped.stdout).toBe((await lint(['equal.jsonl', '--plot'], { terminal: true })).stdout);
    expect((await lint(['equal.jsonl', '--plot', '--json'])).code).toBe(2);
    expect((await lint(['empty.jsonl', '--plot'])).stdout).toMatch(/^rewards +none\n\nno-groups/m);
  });

  it.each([
    [['equal.jsonl', '--html', '-'], '--html writes a file, not stdout'],
    [['equal.jsonl', '--html', './equal.jsonl'], './equal.jsonl is an input, and --html would replace it'],
    [['.', '--html', 'equal.jsonl'], 'equal.jsonl is an input, and --html would replace it'],
  ])('writes no page for %j', async (args, message) => {
    const { code, stderr } = await lint(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('leaves groups without rewards out of the standard deviation within groups', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'groups.jsonl'), `${group('1', '3')}{"trajectories":[{"trajectory":[]}]}\n`);
    const { stdout } = await svc(['train', 'lint', 'groups.jsonl'], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ groups: 2, rewards: { count: 2, spread_within_groups: 1 } });
  });

  it.each([
    ['the only group', '', null, /^trajectories +2$/m, /standard deviation 0.5, min/],
    [
      'another group',
      group('1', '2', '3'),
      { min: 3, mean: 3, max: 3 },
      /^trajectories +5; per group 3$/m,
      /groups 0.81/,
    ],
  ])('counts complete groups where the text is cut in %s', async (_, before, perGroup, trajectories, rewards) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'cut.jsonl'), `${before}{"trajectories":[${run('3')},${run('4')}`);
    const lintCut = (...args: string[]) => svc(['train', 'lint', 'cut.jsonl', ...args], { cwd });
    expect(JSON.parse((await lintCut()).stdout)).toMatchObject({ trajectories_per_group: perGroup });
    const { stdout } = await lintCut('--format', 'text');
    expect(stdout).toMatch(trajectories);
    expect(stdout).toMatch(rewards);
  });

  it('reports each problem with its location, and findings as well', async () => {
    const { stdout, stderr } = await lint(['nan.jsonl', 'bad.jsonl']);
    expect(stderr).toMatch(/^svc: svc train would not send these trajectories: 2 errors$/m);
    expect(stderr).toMatch(
      /^svc: bad\.jsonl: invalid groups and trajectories were skipped; the figures are of the others$/m,
    );
    expect(stderr).toMatch(/^ {2}nan\.jsonl:2:28: invalid JSON: NaN is not a JSON number/m);
    expect(stderr).toMatch(/^ {2}bad\.jsonl:2:28: invalid JSON: expected/m);
    expect(JSON.parse(stdout)).toMatchObject({
      findings: expect.arrayContaining([expect.objectContaining({ kind: 'nan', at: 'nan.jsonl:2:28' })]),
      problems: [{ at: 'nan.jsonl:2:28' }, { at: 'bad.jsonl:2:28' }],
    });
  });

  it('hints at --group-by where each line is a trajectory', async () => {
    const { stderr } = await lint(['alone.jsonl']);
    expect(stderr).toMatch(/^ {2}if each line is a trajectory, group them: add --group-by metadata\.task$/m);
  });

  it('prints errors in the order of the text', async () => {
    const text = `{"trajectories":[{"reward":1,"start_time":"x"}],"logs":[],"logs":2}\n{"trajectories":[{"reward":"a"},{"reward":"b","metrics":1}]}\n`;
    const { stdout, stderr } = await lint(['-'], { stdin: `${group('0', '1')}${text}[5]\n` });
    const places = [...stderr.matchAll(/stdin:(\d+):(\d+)/g)].map(([, line, column]) => [Number(line), Number(column)]);
    expect(places).toHaveLength(JSON.parse(stdout).problems.length);
    expect(places.slice(2)).toEqual(places.slice(2).sort(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d));
  });

  it('prints errors in the order of the files, in every form and as svc train does', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'a.json'), '[{"trajectories":[{"reward":"x"}]},3,{"trajectories":[{"reward":"y"}]}]');
    writeFileSync(join(cwd, 'b.json'), '[3]');
    writeFileSync(join(cwd, 'c.json'), '[{"trajectories":[{"reward":"x"}]}]');
    const args = ['b.json', 'a.json', 'c.json'];
    const order = ['b.json:1:2', 'a.json:1:29', 'a.json:1:36', 'a.json:1:65', 'c.json:1:29'];
    const placesIn = (text: string): string[] => text.match(/\w\.json:\d+:\d+/g) ?? [];
    const { stdout, stderr } = await svc(['train', 'lint', ...args], { cwd });
    expect(placesIn(stderr)).toEqual(order);
    // The first says that no trajectory has messages.
    expect(JSON.parse(stdout).problems.map(({ at }: { at: string }) => at)).toEqual(['', ...order]);
    const annotated = await svc(['train', 'lint', ...args, '--annotations', 'github'], { cwd });
    const lines = annotated.stderr.matchAll(/^::error file=(.*),line=(\d+),col=(\d+),/gm);
    expect(Array.from(lines, ([, ...place]) => place.join(':'))).toEqual(order);
    const checked = await svc(['train', ...args, '--dry-run'], { cwd });
    expect(placesIn(checked.stderr)).toEqual(order);
  });

  it.each<[string, readonly string[], Setting, number, readonly string[]]>([
    [
      'a finding as a warning',
      ['equal.jsonl'],
      {},
      0,
      ['::warning file=equal.jsonl,line=1,col=1,title=zero-variance::trajectory_groups[0]: both rewards are 1'],
    ],
    [
      'a finding of --fail-on as an error',
      ['equal.jsonl', '--fail-on', 'zero-variance'],
      {},
      13,
      ['::error file=equal.jsonl,line=1,col=1,title=zero-variance::trajectory_groups[0]: both rewards are 1'],
    ],
    ['nothing for clean files', ['good.jsonl'], {}, 0, []],
    ['JSON errors', ['bad.jsonl'], {}, 3, [expect.stringMatching(/^::error file=bad\.jsonl,line=2,col=28,title=/)]],
    [
      'stdin without a file, also under --quiet',
      ['-', '-q'],
      { stdin: group('1', '1') },
      0,
      [expect.stringMatching(/^::warning line=1,col=1,/)],
    ],
  ])('--annotations github prints %s', async (_, args, setting, code, lines) => {
    const result = await lint([...args, '--annotations', 'github'], setting);
    expect({ code: result.code, lines: result.stderr.split('\n').filter((line) => line.startsWith('::')) }).toEqual({
      code,
      lines,
    });
    expect(Object.keys(JSON.parse(result.stdout))).toContain('findings');
  });

  it.each([
    [['--annotations', 'gitlab']],
    [['--annotations', 'github', '--error-format', 'json']],
    [['--fail-on', 'any,none']],
  ])('%j is a wrong command line', async (flags) => {
    expect(await lint(['good.jsonl', ...flags])).toMatchObject({ code: 2, stdout: '' });
  });
});
