import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { program, run } from '../../support/process.ts';
import { temporaryDirectory } from '../../support/svc.ts';

const modelId = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05';
const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const tokens = [{ token: 'token_id:1', logprob: -0.5, bytes: [97], top_logprobs: [] }];
const lines = (records: readonly unknown[]): string => records.map((one) => `${JSON.stringify(one)}\n`).join('');
const four = (record: (task: number, run: number) => unknown): unknown[] =>
  [0, 1, 2, 3].map((at) => record(at >> 1, at & 1));

// In our own words, with the fields that each writes.
const rollouts: Readonly<Record<string, unknown[]>> = {
  'prompts and completions': four((task, run) => ({ prompt: `q${task}`, completion: `c${run}`, reward: run })),
  'completions with logprobs': four((task, run) => ({
    ...{ id: `t${task}`, prompt: `q${task}`, completion: `c${run}`, logprobs: { content: tokens }, reward: run },
  })),
  'chats with logprobs of tokens alone': four((task, run) => ({
    ...{ messages: [user(`q${task}`), assistant(`c${run}`)], logprobs: tokens, finish_reason: 'length', reward: run },
  })),
  'a log of TRL': four((task, run) => ({
    step: 3,
    prompt: `q${task}`,
    completion: `c${run}`,
    is_brief: run / 2,
    advantage: -1,
  })),
  'a dump of verl': four((task, run) => ({
    input: `q${task}`,
    output: `c${run}`,
    gts: '1',
    score: run,
    step: 1,
    acc: true,
  })),
  'results of prime-rl': four((task, run) => ({
    ...{ example_id: task, prompt: [user(`q${task}`)], completion: [assistant(`c${run}`)], answer: '4' },
    ...{ task: 'default', reward: run, info: {} },
  })),
  'a table of answers': four((task, run) => ({ question: `q${task}`, answer: `c${run}`, correct: run === 1 })),
  'rollouts of NeMo Gym': four((task, run) => ({
    responses_create_params: { input: [user(`q${task}`)] },
    response: {
      output: [
        { type: 'reasoning' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `c${run}` }] },
      ],
    },
    reward: run,
  })),
  'rollouts of NeMo RL': four((task, run) => ({
    message_log: [{ ...user(`q${task}`), token_ids: [1] }, assistant(`c${run}`)],
    total_reward: run,
  })),
  'chats with rewards': four((task, run) => ({
    messages: [{ role: 'system', content: 's' }, user(`q${task}`), assistant(`c${run}`)],
    score: run,
  })),
  conversations: four((task, run) => ({
    conversations: [
      { from: 'human', value: `q${task}` },
      { from: 'gpt', value: `c${run}` },
    ],
    reward: run,
  })),
  'episodes of rLLM': four((task, run) => ({
    ...{ id: `e${task}${run}`, task: { question: `q${task}` } },
    trajectories: [
      { name: 'solver', steps: [{ chat_completions: [user(`q${task}`), assistant(`c${run}`)] }], reward: run },
    ],
  })),
};

const forms = Object.entries(rollouts).flatMap(([name, records], index, { length }) => [
  [name, 'in.jsonl', lines(records)] as const,
  ...(index > 0 && index < length - 1
    ? []
    : [
        [`${name} in an array`, 'in.json', JSON.stringify(records, undefined, 2)] as const,
        [`${name} in a directory with a space`, 'my runs/in.jsonl', lines(records)] as const,
        [`${name}, compressed`, 'in.jsonl.gz', gzipSync(lines(records))] as const,
      ]),
]);

function files(name: string, content: string | Uint8Array): string {
  const cwd = temporaryDirectory();
  mkdirSync(dirname(join(cwd, name)), { recursive: true });
  writeFileSync(join(cwd, name), content);
  // The name that a printed command has.
  writeFileSync(join(cwd, 'svc'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, { mode: 0o755 });
  return cwd;
}

function printedCommand(stderr: string): string {
  return /^ {2}these look like [^:]*: (.*?)(?:; they have no reward.*)?$/m.exec(stderr)?.[1] ?? '';
}

describe('rollouts of other tools', () => {
  it.for(forms)('become trajectories by the printed command: %s', async ([, name, content]) => {
    const cwd = files(name, content);
    const first = await run(['train', name, '--model-id', modelId, '--local', '--strict'], { cwd });
    expect(first.code, first.stderr).toBe(3);
    expect(first.stderr.split('\n').length).toBeLessThan(10);
    const env = { ...process.env, PATH: `${cwd}${delimiter}${process.env.PATH}` };
    const report = JSON.parse(
      execFileSync('bash', ['-c', printedCommand(first.stderr)], { cwd, env, encoding: 'utf8' }),
    );
    expect(report).toMatchObject({ groups: 2, trajectories: 4, rewards: { count: 4 }, problems: [] });
    const noLogprobs = String(content).includes('"logprob"') ? 0 : 4;
    expect(report.counts).toMatchObject({
      ...{ 'zero-variance': 0, 'single-trajectory': 0, 'missing-reward': 0 },
      ...{ 'no-logprobs': noLogprobs, 'token-text': 0 },
    });
    expect(first.stderr.includes('without tokens and their logprobs')).toBe(noLogprobs > 0);
    const made = readFileSync(join(cwd, 'in.trajectories.jsonl'), 'utf8').trimEnd().split('\n');
    const texts = made.map((line) =>
      JSON.parse(line)
        .messages_and_choices.map((one: { content: string; message?: { content: string } }) => one.message ?? one)
        .map(({ content }: { content: string }) => content)
        .join(),
    );
    expect(texts.map((text) => text.replace('s,', ''))).toEqual(['q0,c0', 'q0,c1', 'q1,c0', 'q1,c1']);
    const sent = await run(
      ['train', 'in.trajectories.jsonl', '--group-by', 'metadata.task', '--model-id', modelId, '--local'],
      { cwd },
    );
    expect(sent.code, sent.stderr).toBe(0);
    const unchanged = readFileSync(join(cwd, name));
    expect(name.endsWith('.gz') ? gunzipSync(unchanged) : unchanged).toEqual(
      Buffer.from(typeof content === 'string' ? content : gunzipSync(content)),
    );
  });

  it.for([
    ['train', 'lint'],
    ['train', '--local', '-n', '--model-id', modelId],
  ])('grouped by a field of theirs are named, too: %s', async (args) => {
    const cwd = files('in.jsonl', lines(rollouts['completions with logprobs'] ?? []));
    const { code, stderr } = await run([...args, 'in.jsonl', '--group-by', 'id'], { cwd });
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^svc: these look like prompts.*logprobs: \$record/m)]);
    const bare = await run([...args, '-', '--group-by', 'id'], { cwd, stdin: '{"id":1,"reward":1}\n' });
    expect(bare.stderr).not.toMatch(/group-by|the first record/);
  });

  it('without a reward are named, and nothing about chats that would cost money is printed', async () => {
    const cwd = files('in.jsonl', lines([{ prompt: 'q', completion: 'c' }]));
    const { stderr } = await run(['train', 'lint', 'in.jsonl'], { cwd });
    expect(stderr).toContain('they have no reward, so add one to each');
    const chats = files('in.jsonl', lines([{ messages: [user('q')], reward: 1 }]));
    expect((await run(['train', 'lint', 'in.jsonl'], { cwd: chats })).stderr).not.toContain('svc chat');
  });

  it('that are tasks, or nothing that svc knows, say what was found', async () => {
    const tasks = files(
      'in.jsonl',
      lines([{ data_source: 'x', prompt: [user('q')], reward_model: { style: 'rule' } }]),
    );
    expect((await run(['train', 'lint', 'in.jsonl'], { cwd: tasks })).stderr).toContain(
      'tasks of verl, without rollouts',
    );
    const other = files('in.jsonl', lines([{ alpha: 1, beta: [2] }]));
    expect((await run(['train', 'lint', 'in.jsonl'], { cwd: other })).stderr).toContain(
      'the first record has the fields "alpha", "beta"',
    );
    const text = files('in.jsonl', '"a"\n');
    expect((await run(['train', 'lint', 'in.jsonl'], { cwd: text })).stderr).toContain('is not an object');
  });
});

describe('trajectories without a signal', () => {
  const bare = (fields: object) => lines(Array.from({ length: 3000 }, () => ({ trajectories: [fields, fields] })));

  it.for([
    ['a reward', { messages_and_choices: [user('q')] }, 'no trajectory has a reward'],
    ['messages', { reward: 1 }, 'no trajectory has messages'],
  ] as const)('lack %s: said first, once, and refused by --strict', async ([, fields, message]) => {
    const cwd = files('in.jsonl', bare(fields));
    for (const args of [
      ['train', 'lint', 'in.jsonl'],
      ['train', 'in.jsonl', '--model-id', modelId, '--local', '-n'],
    ]) {
      const { code, stderr } = await run(args, { cwd });
      expect(code, stderr).toBe(0);
      expect(stderr.split('\n')[0]).toMatch(`svc: warning: trajectory_groups: ${message}`);
      expect(stderr.split(message)).toHaveLength(2);
      expect(stderr).not.toContain('--group-by');
      const strict = await run([...args, '--strict'], { cwd });
      expect(strict.code).toBe(3);
      expect(strict.stderr).toContain(message);
    }
  });

  it('are no such thing if one has what the others lack', async () => {
    const cwd = files(
      'in.jsonl',
      `${bare({ messages_and_choices: [user('q')] })}${lines([{ trajectories: [{ messages_and_choices: [user('q')], reward: 0 }] }])}`,
    );
    expect((await run(['train', 'lint', 'in.jsonl'], { cwd })).stderr).toBe('');
  });

  it('of a wrong data set are grouped by cause, with line ranges', async () => {
    const wrong = Array.from({ length: 3000 }, (_, at) => ({
      trajectories: [at % 3 === 0 ? 5 : { messages_and_choices: [user('q')], reward: 'high' }],
    }));
    const cwd = files('in.jsonl', lines(wrong));
    const { code, stderr } = await run(['train', 'lint', 'in.jsonl'], { cwd });
    expect(code).toBe(3);
    expect(stderr.split('\n').length).toBeLessThan(8);
    expect(stderr).toContain('(and 1999 more like this: lines 2-3, 5-6,');
  });
});

it('--group-by names the paths that there are', async () => {
  const cwd = files(
    'in.jsonl',
    lines(
      four((task, run) => ({
        messages_and_choices: [user('q')],
        reward: run,
        metadata: { seed: 1, task_id: `t${task}` },
      })),
    ),
  );
  const without = await run(['train', 'lint', 'in.jsonl'], { cwd });
  expect(without.stderr).toContain('add --group-by metadata.task_id');
  const wrong = await run(['train', 'lint', 'in.jsonl', '--group-by', 'metadata.task'], { cwd });
  expect(wrong.stderr).toContain('metadata.task_id, metadata.seed: add --group-by metadata.task_id');
  expect((await run(['train', 'lint', 'in.jsonl', '--group-by', 'metadata.task_id'], { cwd })).code).toBe(0);
});

it('logprobs of a refusal are logprobs', async () => {
  const logprobs = { content: null, refusal: [{ token: 'token_id:7', logprob: -1 }] };
  const choice = { message: { role: 'assistant', refusal: 'no' }, logprobs };
  const cwd = files('in.jsonl', lines([{ trajectories: [{ messages_and_choices: [user('q'), choice], reward: 0 }] }]));
  expect(JSON.parse((await run(['train', 'lint', 'in.jsonl'], { cwd })).stdout).counts).toMatchObject({
    'no-logprobs': 0,
    'token-text': 0,
  });
});
