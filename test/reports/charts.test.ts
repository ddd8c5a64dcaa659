import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { digestInputLine } from '../../src/batch/store/result-line.ts';
import { REPORT_STYLE } from '../../src/reports/report-page.ts';
import { run } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const question = (at: number): string => JSON.stringify({ messages: [{ role: 'user', content: `question ${at}` }] });

const inputDigest = (at: number): string => digestInputLine({ bytes: Buffer.from(question(at)), length: 0 });

const resultLine = (at: number, ms: number, tokens: number): string =>
  `${JSON.stringify({
    ...{ line: at + 1, id: `row-${at}`, status: 200, exit_code: 0, applied: 'yes' },
    response: {
      ...{ model: 'm', choices: [{ index: 0, message: { content: `answer ${at}` }, finish_reason: 'stop' }] },
      usage: { prompt_tokens: tokens, completion_tokens: tokens },
    },
    ...{ attempts: 1, ms, ended_at: new Date(Date.UTC(2026, 0, 31) + at * 1000).toISOString() },
    checkpoint: { input: inputDigest(at), run: 'r', operation: '/v1/chat/completions', shard: '1/1' },
  })}\n`;

async function report(values: readonly number[], more: readonly string[] = [], files: Record<string, string> = {}) {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'out.jsonl'), values.map((value, at) => resultLine(at, value, value)).join(''));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  const { code, stdout, stderr } = await run(['batch', 'report', 'out.jsonl', '--html', 'r.html', ...more], { cwd });
  expect(code, stderr).toBe(0);
  return { html: readFileSync(join(cwd, 'r.html'), 'utf8'), stdout };
}

/** The figure with a title: its ticks, its summary, and the first cell of each row of its values. */
function chart(html: string, title: string) {
  const [figure = ''] = html.match(new RegExp(`<figure><figcaption><b>${title}.*?</figure>`, 's')) ?? [];
  const texts = (pattern: RegExp): string[] => Array.from(figure.matchAll(pattern), ([, text = '']) => text);
  return {
    ticks: texts(/<text x="[^"]*" y="100%" dy="16"[^>]*>([^<]*)</g),
    summary: texts(/<\/b>([^<]*)</g).join(''),
    ranges: texts(/<tr><td[^>]*>([^<]*)</g),
  };
}

it.each<[name: string, values: readonly number[]]>([
  ['1 and 2 ms', [1, 2]],
  ['5 to 7 ms', [5, 6, 7]],
  ['900 to 1,000 ms', [900, 950, 1000]],
  ['0 to 30 ms', [0, 3, 30]],
  ['20 ms to 1.3 s', [20, 200, 1300]],
  ['0.8 to 12 s', [800, 4000, 12_000]],
  ['1 ms to a day', [1, 5000, 86_400_000]],
])('the axis of times from %s has at least five different ticks, and no more than a phone shows', async (_, values) => {
  const { ticks } = chart((await report(values)).html, 'Latency');
  expect(new Set(ticks).size, ticks.join()).toBe(ticks.length);
  expect(ticks.length, ticks.join()).toBeGreaterThanOrEqual(5);
  expect(ticks.length, ticks.join()).toBeLessThanOrEqual(6);
});

it('histograms begin at the data, and a single value says so', async () => {
  const many = await report(Array.from({ length: 101 }, (_, at) => 900 + at));
  const { ranges, ticks } = chart(many.html, 'Prompt tokens per line');
  expect(ranges[0]).toMatch(/^900 to /);
  expect(ticks.every((tick) => Number(tick.replace(',', '')) >= 900)).toBe(true);
  const single = await report([1500, 1500, 1500], ['--plot']);
  expect(chart(single.html, 'Prompt tokens per line')).toMatchObject({
    summary: ' 3 lines, 4,500 in all, each 1,500.',
    ranges: ['1,500'],
  });
  const latency = { summary: ' 3 lines, each 1.5 s.', ranges: ['1.5 s'], ticks: ['1.5 s'] };
  expect(chart(single.html, 'Latency')).toMatchObject(latency);
  // --plot prints text to a pipe, too.
  expect(single.stdout).toMatch(
    /^3 lines: 3 done.*\nLatency\n {2}1,500 ms {2}3 █+\n\nPrompt tokens per line\n {2}1,500 {2}3 █+\n/s,
  );
});

it('samples show the id of a line, and its prompt if the input is named', async () => {
  const files = { 'in.jsonl': `${question(0)}\n${question(1)}\n`, 'in.csv': 'city,note\nBonn,"a ""b"""\nUlm,c\n' };
  const cells = (html: string): string[] => {
    const [, section = ''] = /<h2>Samples of responses<\/h2>(.*?)<\/section>/s.exec(html) ?? [];
    return Array.from(section.matchAll(/<t[hd](?: [^>]*)?>([^<]*)</g), ([, text = '']) => text);
  };
  const without = await report([10, 20]);
  expect(cells(without.html)).toEqual(['Line', 'Id', 'Text', '1', 'row-0', 'answer 0', '2', 'row-1', 'answer 1']);
  const prompts = await report([10, 20], ['--input', 'in.jsonl'], files);
  const [first, second] = [
    ['1', 'row-0', 'question 0', 'answer 0'],
    ['2', 'row-1', 'question 1', 'answer 1'],
  ];
  expect(cells(prompts.html)).toEqual(['Line', 'Id', 'Input', 'Text', ...(first ?? []), ...(second ?? [])]);
  const table = await report([10, 20], ['--input', 'in.csv'], files);
  expect(cells(table.html)).toEqual(expect.arrayContaining(['Bonn,&#34;a &#34;&#34;b&#34;&#34;&#34;', 'Ulm,c']));
});

it('groups show their task: what they are grouped by, or what their metadata names', async () => {
  const cwd = temporaryDirectory();
  const rollout = (task: string, reward: number): object => ({
    ...{ reward, metadata: { level: 3, task_id: task }, messages_and_choices: [{ role: 'user', content: 'x' }] },
  });
  const groups = ['sort <b>', 'sum'].map((task) => ({ trajectories: [rollout(task, 1), rollout(task, 1)] }));
  writeFileSync(join(cwd, 'g.jsonl'), groups.map((group) => `${JSON.stringify(group)}\n`).join(''));
  const lines = groups.flatMap(({ trajectories }) => trajectories).map((one) => `${JSON.stringify(one)}\n`);
  writeFileSync(join(cwd, 't.jsonl'), lines.join(''));
  for (const args of [['g.jsonl'], ['t.jsonl', '--group-by', 'metadata.task_id']]) {
    const { code, stdout } = await run(['train', 'lint', ...args, '--html', 'r.html'], { cwd });
    expect(code).toBe(0);
    expect(chart(readFileSync(join(cwd, 'r.html'), 'utf8'), 'Rewards of each group').ranges).toEqual([
      '0: sort &#60;b&#62;',
      '1: sum',
    ]);
    const messages = JSON.parse(stdout).findings.map(({ message }: { message: string }) => message);
    expect(messages).toEqual(expect.arrayContaining(['both rewards are 1 (task sum)']));
  }
});

// Machado and others (2009), for complete dichromacy, on linear RGB.
const dichromacies = {
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
} as const;

const pageStyle = readFileSync(new URL('../../src/local-service/page/page.css', import.meta.url), 'utf8');

it.each(Object.entries(dichromacies))(
  'failures differ in color with %s from bars and from matches, in both themes',
  (_, matrix) => {
    const linear = (hex: string): number[] =>
      [0, 2, 4].map((at) => {
        const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
        return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
      });
    const seen = (hex: string): number[] => {
      const rgb = linear(hex);
      return [0, 3, 6].map((row) => rgb.reduce((sum, value, at) => sum + value * (matrix[row + at] ?? 0), 0));
    };
    // Distance in OKLab, where 0.02 is just visible.
    const lab = ([r = 0, g = 0, b = 0]: readonly number[]): number[] => {
      const [l, m, s] = [
        Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b),
        Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b),
        Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b),
      ];
      return [
        0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
      ];
    };
    const colorOf = (name: string, theme: number): number[] => {
      const colors = new RegExp(`--${name}: ?light-dark\\(#(\\w+), ?#(\\w+)\\)`).exec(REPORT_STYLE + pageStyle);
      return lab(seen(colors?.[theme] ?? ''));
    };
    const match = /\.match \{\s+color: var\(--(\w+)\)/.exec(pageStyle)?.[1] ?? '';
    for (const theme of [1, 2])
      for (const name of ['bar', match]) {
        const [one, bad] = [colorOf(name, theme), colorOf('bad', theme)];
        const distance = Math.hypot(...one.map((value, at) => value - (bad[at] ?? 0)));
        expect(distance, `${name} and bad`).toBeGreaterThan(0.15);
      }
  },
);
