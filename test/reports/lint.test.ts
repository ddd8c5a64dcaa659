import { describe, expect, it } from 'vitest';
import { parseJsonPath } from '../../src/json/json-node.ts';
import { formatPlace } from '../../src/output/failure-text.ts';
import { lintKindNames } from '../../src/reports/lint/lint-kinds.ts';
import { createLinter, type LintResult, standardDeviation } from '../../src/reports/lint/linter.ts';

async function* piecesOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function linted(text: string, groupBy?: string, size = 1024): Promise<LintResult> {
  const lint = createLinter(groupBy === undefined ? undefined : parseJsonPath(groupBy));
  await lint.read('f', piecesOf(text, size), 'groups');
  return lint.finish();
}

const findingsIn = ({ findings }: LintResult['summary']) =>
  lintKindNames.flatMap(findings.examplesOf).map((finding) => ({ ...finding, at: formatPlace(finding.at) }));

const token = (id: number | string): string => `{"token":"${id}","logprob":-0.5}`;
const choices = `"messages_and_choices":[{"role":"user","content":"x"},{"message":{"role":"assistant"},"finish_reason":"stop","logprobs":{"content":[${token('token_id:17')}]}}]`;
const run = (reward: string | undefined, more = ''): string =>
  `{${reward === undefined ? '' : `"reward":${reward},`}${choices}${more}}`;
const group = (...runs: readonly string[]): string => `{"trajectories":[${runs.join(',')}]}`;

/** A pair of trajectories with a training signal, the first of them as given. */
const beside = (first: string): string => group(first, run('1'));
const withChoices = (list: string): string => `{"reward":0,"messages_and_choices":${list}}`;

describe('lint finds', () => {
  it.each<[string, string, readonly string[]]>([
    ['nothing wrong', beside(run('0')), []],
    ['no groups', ' [ ] \n', ['no-groups f trajectory_groups: contains no group']],
    ['nothing wrong with large numbers that differ', group(run('9007199254740993e3'), run('1')), []],
    [
      'equal rewards, however they are written',
      `\n ${group(run('1'), run('1.0'), run('10e-1'))}`,
      ['zero-variance f:2:2 trajectory_groups[0]: all 3 rewards are 1'],
    ],
    [
      'equal rewards of zero',
      group(run('0'), run('-0.0')),
      ['zero-variance f:1:1 trajectory_groups[0]: both rewards are 0'],
    ],
    [
      'rewards that differ, but not as doubles',
      group(run('9007199254740993'), run('9007199254740992')),
      [
        'rounded-variance f:1:1 trajectory_groups[0]: both rewards are the same double, from 9007199254740992 to 9007199254740993',
      ],
    ],
    [
      'a group of one',
      `${beside(run('0'))}\n${group(run('0'))}`,
      ['single-trajectory f:2:1 trajectory_groups[1]: has only one trajectory, so there is nothing to compare it with'],
    ],
    ['an empty group', '[{"trajectories":[]}]', ['empty-group f:1:2 trajectory_groups[0]: has no trajectories']],
    [
      'missing rewards, and null',
      group(run(undefined), run('null'), run('1'), run('2')),
      [
        'missing-reward f:1:18 trajectory_groups[0].trajectories[0]: has no reward',
        `missing-reward f:1:${19 + run(undefined).length} trajectory_groups[0].trajectories[1]: has no reward`,
      ],
    ],
    [
      'rewards that are beyond a double',
      group(run('0'), run('1e400'), run('-1e999')),
      [
        `huge-reward f:1:${19 + run('0').length + 10} trajectory_groups[0].trajectories[1].reward: exceeds the range of a double`,
        `huge-reward f:1:${20 + run('0').length + run('1e400').length + 10} trajectory_groups[0].trajectories[2].reward: exceeds the range of a double`,
      ],
    ],
    [
      'a policy that became older',
      beside(run('0', ',\n"initial_policy_version":9007199254740993,"final_policy_version":9007199254740992')),
      [
        'policy-order f:2:26 trajectory_groups[0].trajectories[0].initial_policy_version: is 9007199254740993, newer than final_policy_version 9007199254740992',
      ],
    ],
    [
      'no fault in policies that are equal or half known',
      beside(run('0', ',"initial_policy_version":4,"final_policy_version":4.0')),
      [],
    ],
    ['no fault in one policy alone', beside(run('0', ',"initial_policy_version":4')), []],
    [
      'choices without logprobs',
      group(
        withChoices('[{"role":"user","content":"x"}]'),
        withChoices('[{"message":{},"logprobs":null}]'),
        withChoices('[{"message":{},"logprobs":{"content":[]}}]'),
        withChoices(`[{"role":"user","logprobs":{"content":[${token('token_id:1')}]}}]`),
        run('1'),
      ),
      [0, 1, 2, 3].map((at) => `no-logprobs f:1:N trajectory_groups[0].trajectories[${at}]: no choice has logprobs`),
    ],
    ['logprobs in a further history', beside(`{"reward":0,"additional_histories":[{${choices}}]}`), []],
    [
      'tokens that are texts',
      beside(
        withChoices(
          `[{"message":{},"logprobs":{"content":[${token('token_id:1')},${token('Hi')},${token('token_id:')}]}}]`,
        ),
      ),
      [
        'token-text f:1:N trajectory_groups[0].trajectories[0].messages_and_choices[0].logprobs.content[1].token: "Hi" is not token_id:<n> (and 1 more like this)',
      ],
    ],
    ...['token_id:-1', 'token_id:1x', 'Token_id:1', 'token_id:1\\u0030', ''].map(
      (text): [string, string, readonly string[]] => [
        `the token ${JSON.stringify(text)}`,
        beside(withChoices(`[{"message":{},"logprobs":{"content":[${token(text)}]}}]`)),
        [
          `token-text f:1:N trajectory_groups[0].trajectories[0].messages_and_choices[0].logprobs.content[0].token: ${JSON.stringify(text.replace('\\u0030', '0'))} is not token_id:<n>`,
        ],
      ],
    ),
    [
      'different tools',
      group(run('0', ',"tools":[{"type":"function"}]'), run('1', ',"tools":[{"type":"other"}]')),
      ['mixed-tools f:1:1 trajectory_groups[0]: its trajectories have different tools'],
    ],
    [
      'tools of some only',
      group(run('0', ',"tools":[]'), run('1'), run('1', ',"tools":[{}]')),
      ['mixed-tools f:1:1 trajectory_groups[0]: its trajectories have different tools'],
    ],
    ['no difference in whitespace', group(run('0', ',"tools":[{"a": 1}]'), run('1', ',"tools":[ {"a":1}]')), []],
    ['no difference in no tools', group(run('0', ',"tools":[]'), run('1'), run('2', ',"tools":null')), []],
  ])('%s', async (_, text, findings) => {
    const { summary, problems } = await linted(text);
    expect(problems.filter(({ level }) => level === 'error')).toEqual([]);
    // A column N is checked in another test.
    const shown = findingsIn(summary).map(({ kind, at, path, message }) => `${kind} ${at} ${path}: ${message}`);
    expect(shown.map((line, at) => (findings[at]?.includes(':N ') ? line.replace(/:\d+ /, ':N ') : line))).toEqual(
      findings,
    );
  });

  it.each([
    ['NaN', 'NaN', '.reward'],
    ['Infinity', ' Infinity ', '.reward'],
    ['-Infinity', '-Infinity', '.reward'],
  ])('%s as a reward, with its location, and continues', async (word, written, path) => {
    const { summary, problems } = await linted(`${beside(run('0'))}\n${group(run(written), run('1'), run('2'))}`);
    const column = 28 + (written.length - written.trimStart().length);
    expect(findingsIn(summary)).toEqual([
      {
        kind: 'nan',
        at: `f:2:${column}`,
        path: `trajectory_groups[1].trajectories[0]${path}`,
        message: 'NaN and Infinity are not JSON numbers; use a number or null',
      },
    ]);
    expect(problems).toMatchObject([
      { at: { label: 'f', line: 2, column }, message: expect.stringContaining(`${word} is not a JSON number`) },
    ]);
    expect([summary.trajectories, summary.rewards.count, summary.rewards.max]).toEqual([5, 4, '2']);
  });

  it('NaN elsewhere, and not the text NaN', async () => {
    const { summary } = await linted(beside(run('0', ',"metrics":{"NaN":"NaN \\" -Infinity","x":NaN}')));
    expect(findingsIn(summary)).toMatchObject([{ kind: 'nan', path: 'trajectory_groups[0].trajectories[0]' }]);
  });

  it('the first hundred of a kind, and counts the rest', async () => {
    const { summary } = await linted(Array.from({ length: 250 }, () => group(run('0'))).join('\n'));
    expect(findingsIn(summary)).toHaveLength(100);
    expect(summary.findings.count('single-trajectory')).toBe(250);
  });
});

describe('what is wrong', () => {
  it.each<[string, string, readonly string[]]>([
    [
      'in a trajectory',
      `${beside('{"reward":}')}\n${beside(run('0'))}`,
      ['f:1:28 invalid JSON: expected a value, found "}"'],
    ],
    ['between them', `${beside(run('0'))}\n[${beside(run('0'))} 5x`, ['f:2:N invalid JSON']],
    ['a body', '{"model_id":"m","trajectory_groups":[]}', ['f:1:1 is a whole body']],
    ['a trajectory that is alone', run('1'), ['f:1:1 must be a group']],
  ])('%s is reported with its location', async (_, text, wanted) => {
    const { problems, summary } = await linted(text);
    expect(
      problems.map(({ at, message }) =>
        `${formatPlace(at)} ${message}`.replace(
          wanted[0]?.includes(':N ') ? /:\d+ / : '',
          wanted[0]?.includes(':N ') ? ':N ' : '',
        ),
      ),
    ).toEqual(wanted.map((line) => expect.stringContaining(line)));
    expect(findingsIn(summary)).toEqual([]);
  });

  it.each([
    ['a key without quotes', '{oops}'],
    ['an unclosed group', `{"trajectories":[${run('1')}`],
    ['an unclosed string', `{"trajectories":[{"reward":1,"x":"}]}`],
    ['an invalid number', `{"trajectories":[${run('1.2.3')},${run('1')}]}`],
    ['a missing colon', '{"trajectories" []}'],
  ])('%s costs one line: later ones are read, and nothing is said about the group', async (_, line) => {
    const equal = group(run('7'), run('7'));
    for (const size of [1, 17, 100_000]) {
      const lint = createLinter(undefined);
      await lint.read('f', piecesOf([equal, line, equal, equal].join('\n'), size), 'groups');
      const { problems, summary, skippedLabels, cutLabels } = lint.finish();
      expect(problems.map(({ at }) => at?.line)).toEqual([expect.toSatisfy((at) => at === 2 || at === 3)]);
      expect(findingsIn(summary).map(({ kind, at }) => `${kind} ${at}`)).toEqual(
        [1, 3, 4].map((at) => `zero-variance f:${at}:1`),
      );
      expect([[...skippedLabels], cutLabels]).toEqual([['f'], []]);
    }
  });

  const speech = run('7').replace('"reward"', '"metadata":{"a":"say \\"hi ]}","b":[{},{"c":""}]},"reward"');
  it.each([
    ['trajectory', speech],
    ['group', group(speech, speech)],
    ['group with other fields', `{"id":"x y","trajectories":[${speech},${speech}],"extra":{"a":["b"]}}`],
  ])('the line of a %s cut off anywhere is named, and the lines after it are read', async (_, line) => {
    const wrong: string[] = [];
    const path = line === speech ? 'metadata.a' : undefined;
    for (let cut = 1; cut < line.length; cut += 1) {
      const text = [line, line.slice(0, cut), line, line].join('\n');
      const { problems, summary } = await linted(text, path, cut % 2 === 0 ? 7 : 10_000);
      const invalid = problems.filter(({ message }) => message.startsWith('invalid JSON'));
      const found = findingsIn(summary).filter(({ kind }) => kind === 'zero-variance');
      const read = path ? summary.trajectories : found.map(({ at }) => at);
      const places = `${invalid.map(({ at }) => at?.line)} ${read}`;
      if (places !== `2 ${path ? 3 : 'f:1:1,f:3:1,f:4:1'}`)
        wrong.push(`${cut}: ${places} ${invalid.map(({ message }) => message)}`);
    }
    expect(wrong).toEqual([]);
  });

  it('keeps the place of an error in an object of several lines', async () => {
    const item = '{"role":"user","content":"x"}';
    const texts = [`{"trajectories":[\n${run('1')},\n${run('x')}\n]}`, `{"a":[\n${item},\n${item}\n],"reward":x}`];
    const places: unknown[] = [];
    for (const text of texts) places.push((await linted(text)).problems.map(({ at }) => at?.line)[0]);
    expect(places).toEqual([3, 4]);
    const { problems, summary } = await linted(`{"trajectories":[\n${run('1')},\n${run('2')}\n]}`);
    expect([problems, summary.trajectories]).toEqual([[], 2]);
  });

  const ofTask = (task: string, reward: string) => run(reward, `,"metadata":{"task":"${task}"}`);
  const skipped = '; skipped trajectories may belong to it';
  it.each([
    ['a line that is cut off', '{"reward":2,"metadata":{task', skipped],
    ['an array that is cut off', `[${ofTask('b', '3')},`, skipped],
    ['a trajectory without the value', run('2'), skipped],
    ['a reward that is not a number', ofTask('b', 'NaN'), ''],
  ])('%s leaves what is known of other groups', async (_, line, note) => {
    const { summary, problems } = await linted([ofTask('a', '1'), ofTask('a', '1'), line].join('\n'), 'metadata.task');
    expect(problems.map(({ at }) => at?.line)).toEqual([3]);
    const [equal] = findingsIn(summary).filter(({ kind }) => kind === 'zero-variance');
    expect(equal).toMatchObject({ path: 'trajectory_groups[0]', message: `both rewards are 1 (task a)${note}` });
  });

  it('of groups beside --group-by says nothing about groups', async () => {
    const { summary, problems } = await linted([ofTask('a', '1'), group(run('1'))].join('\n'), 'metadata.task');
    expect([problems.length, findingsIn(summary)]).toEqual([1, []]);
  });

  it('ends the reading of a line, not of other texts; its partial group is not reported', async () => {
    const lint = createLinter(undefined);
    await lint.read('bad', piecesOf(`${beside(run('0'))}${group(run('1'), '{"reward":x}', 'y')}`, 99), 'groups');
    await lint.read('good', piecesOf(group(run('0'), run('0')), 99), 'groups');
    const { problems, summary } = lint.finish();
    expect(problems.map(({ at }) => formatPlace(at))).toEqual(['bad:1:610', 'bad:1:613']);
    expect(findingsIn(summary).map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      'zero-variance trajectory_groups[2]',
    ]);
  });

  it('is checked as when it is sent', async () => {
    const { problems } = await linted(beside(run('"1"', ',"rewrd":2')));
    expect(problems.map(({ level, at, path }) => `${level} ${formatPlace(at)} ${path}`)).toEqual([
      'error f:1:28 trajectory_groups[0].trajectories[0].reward',
      expect.stringMatching(/^warning f:1:\d+ trajectory_groups\[0\]\.trajectories\[0\]\.rewrd$/),
    ]);
  });
});

describe('single trajectories', () => {
  const alone = (task: string, reward: string): string => run(reward, `,"metadata":{"task":${task}}`);

  it('are grouped by a common value, in any order', async () => {
    const lines = [alone('"a"', '1'), alone('7', '1'), alone('"\\u0061"', '2'), alone('"7"', '3'), alone('7', '1')];
    const { summary, problems } = await linted(lines.join('\n'), 'metadata.task');
    expect(problems).toEqual([]);
    expect([summary.groups, summary.minPerGroup, summary.maxPerGroup, summary.untrainableGroups]).toEqual([3, 1, 2, 2]);
    expect(findingsIn(summary).map(({ kind, at, path }) => `${kind} ${at} ${path}`)).toEqual([
      'zero-variance f:2:1 trajectory_groups[1]',
      'single-trajectory f:4:1 trajectory_groups[2]',
    ]);
  });

  it('that lack the value are counted', async () => {
    const { problems } = await linted(`${alone('1', '1')}\n${run('1')}`, 'metadata.task');
    expect(problems).toMatchObject([
      { at: { label: 'f', line: 2, column: 1 }, message: expect.stringContaining('has no metadata.task') },
    ]);
  });
});

describe('the summary', () => {
  it('is the same for any split of the bytes', async () => {
    const text = `${beside(run('0.5'))}\n[${group(run('1'), run('1'), run('NaN'))},${group(run('é"'.slice(0, 0) || '2'))}]`;
    const whole = await linted(text);
    for (const size of [1, 2, 7, 64]) {
      const { summary, problems } = await linted(text, undefined, size);
      expect(findingsIn(summary)).toEqual(findingsIn(whole.summary));
      expect({ ...summary.rewards, bytes: summary.bytes }).toEqual({
        ...whole.summary.rewards,
        bytes: whole.summary.bytes,
      });
      expect([problems, summary.largest.all]).toEqual([whole.problems, whole.summary.largest.all]);
    }
  });

  it('has sizes, rewards and the largest trajectories', async () => {
    const text = `${group(run('1'), run('3'))}\n${group(run('-2.5e0'), run('2', ',"logs":["long"]'), run('2'))}\n`;
    const { summary } = await linted(text);
    const { bytes, groups, trajectories, minPerGroup, maxPerGroup, untrainableGroups, rewards, largest } = summary;
    expect({ bytes, groups, trajectories, minPerGroup, maxPerGroup, untrainableGroups }).toEqual({
      ...{ bytes: text.length, groups: 2, trajectories: 5, minPerGroup: 2, maxPerGroup: 3, untrainableGroups: 0 },
    });
    expect([rewards.min, rewards.max, rewards.count]).toEqual(['-2.5e0', '3', 5]);
    expect(rewards.mean).toBeCloseTo(1.1, 12);
    expect(standardDeviation(rewards)).toBeCloseTo(Math.sqrt((0.1 ** 2 + 1.9 ** 2 + 3.6 ** 2 + 2 * 0.9 ** 2) / 5), 12);
    expect(largest.all.map(({ path }) => path)[0]).toBe('trajectory_groups[1].trajectories[1]');
    expect(largest.all).toHaveLength(5);
  });
});
