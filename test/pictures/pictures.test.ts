import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  darkTheme,
  lightTheme,
  renderChart,
  renderCourses,
  renderRecording,
  type TerminalFrame,
} from '../../scripts/render-svg.ts';
import { createConcurrencyLimit } from '../../src/batch/send/concurrency.ts';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { cleanEnv, program, waitForExit } from '../support/process.ts';
import {
  type SimulatedClient,
  type SimulatedService,
  seededRandom,
  simulate,
  simulatedServices,
} from '../support/simulated-service.ts';
import { temporaryDirectory } from '../support/svc.ts';

const root = new URL('../../', import.meta.url).pathname;
const COLUMNS = 90;
const LINES = 200;
const KILLED_AT = 100;
const CONCURRENCY = 4;
const RESPONSE_MS = 60;
const COMMAND_MS = 600;
// The picture begins with its last frame, so that it says what happened before anything moves, or where nothing moves.
const FIRST_FRAME_MS = 5_000;
const LAST_FRAME_MS = 3_000;

const SENT_TWICE = 'sort received.txt | uniq -d | wc -l  # requests that were sent twice';

const isDrawn = process.env.npm_lifecycle_event === 'pictures';
const pathOf = (theme: string): string => `${root}docs/pictures/resume-${theme}.svg`;

// A recording is never the same twice: `npm run pictures` writes it, and the test compares what does not depend on time.
it('the picture of a batch that is killed shows a real run', { timeout: 120_000 }, async () => {
  const cwd = temporaryDirectory();
  const received = join(cwd, 'received.txt');
  writeFileSync(received, '');
  const { url, counts } = await countingServer(
    (body) => JSON.parse(body).messages[0].content,
    ({ key }, response) => {
      writeFileSync(received, `${key}\n`, { flag: 'a' });
      if (counts.size === KILLED_AT && response.req.method === 'POST') killOnce(cwd);
      const message = { role: 'assistant', content: `${key}: the Rhine` };
      const usage = { prompt_tokens: 5, completion_tokens: 10, total_tokens: 15 };
      const reply = { model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
      setTimeout(() => answerJson(response, reply), RESPONSE_MS);
    },
  );
  const recording = await record(cwd, url);
  // A request that was recorded but had not arrived at the kill is unknown, too.
  expect(counts.size).toBeGreaterThanOrEqual(LINES - CONCURRENCY);
  expect(Math.max(...counts.values())).toBe(1);
  expect(recording.at(-1)?.lines.slice(-3)).toEqual([`$ ${SENT_TWICE}`, '0', '$ ']);

  if (isDrawn) {
    const frames = withFirstFrame(withPauses(recording));
    const durationMs = Math.ceil(frames.at(-1)?.atMs ?? 0) + LAST_FRAME_MS;
    writeFileSync(pathOf('light'), renderRecording(frames, durationMs, COLUMNS, lightTheme));
    writeFileSync(pathOf('dark'), renderRecording(frames, durationMs, COLUMNS, darkTheme));
  }
  const last = { atMs: 0, lines: recording.at(-1)?.lines ?? [] };
  for (const theme of ['light', 'dark']) {
    expect(firstFrameOf(readFileSync(pathOf(theme), 'utf8'))).toBe(lastFrameOf(readFileSync(pathOf(theme), 'utf8')));
    expect(lastFrameOf(readFileSync(pathOf(theme), 'utf8'))).toBe(
      lastFrameOf(renderRecording([last], LAST_FRAME_MS, COLUMNS, lightTheme)),
    );
  }
});

it('the chart shows each row of docs/internals/performance.md', async () => {
  const [table = ''] = readFileSync(`${root}docs/internals/performance.md`, 'utf8').split('<picture>');
  const bars = table
    .split('\n')
    .slice(table.split('\n').findIndex((line) => line.startsWith('|---')) + 1)
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
    .map(([, label = '', , measured = '']) => ({ label, ratio: Number.parseFloat(measured) }));
  expect(bars.length).toBeGreaterThan(15);
  expect(bars.filter(({ ratio }) => Number.isNaN(ratio))).toEqual([]);
  const title = 'Time of svc relative to its peer, Node 20, logarithmic: below 1 is faster';
  await expect(renderChart(title, bars, lightTheme)).toMatchFileSnapshot(`${root}docs/pictures/benchmark-light.svg`);
  await expect(renderChart(title, bars, darkTheme)).toMatchFileSnapshot(`${root}docs/pictures/benchmark-dark.svg`);
});

it('the chart of concurrency shows what a batch finds at four simulated services', async () => {
  const names = [
    '500 ms, 200 at a time',
    '20 ms, 6 at a time',
    '500 ms, a queue behind 32',
    '500 ms, 64 at a time, then 32',
  ];
  const panels = names.map((name) => {
    const service = simulatedServices.find((one) => one.name === name);
    return { label: name, best: service?.best ?? 0, values: service ? courseAt(service.create()) : [] };
  });
  expect(Math.min(...panels.map(({ values }) => values.length))).toBe(SECONDS * SAMPLES_PER_SECOND);
  const title = 'Requests in flight; dashed: the best fixed number';
  for (const [name, theme] of [
    ['light', lightTheme],
    ['dark', darkTheme],
  ] as const) {
    const picture = renderCourses(title, panels, `${SECONDS} s`, theme);
    await expect(picture).toMatchFileSnapshot(`${root}docs/pictures/concurrency-${name}.svg`);
  }
});

const SECONDS = 60;
const SAMPLES_PER_SECOND = 4;

/** The limit of a batch with endless lines, which is the number of its requests in flight, after each quarter of a second. */
function courseAt(service: SimulatedService): number[] {
  const limit = createConcurrencyLimit({ initial: 8, max: 256, maxHold: 'safe' }, seededRandom(1));
  const values: number[] = [];
  const sample = (now: number): void => {
    while (values.length < (now * SAMPLES_PER_SECOND) / 1000) values.push(limit.current());
  };
  const client: SimulatedClient = {
    current: limit.current,
    onResponse: (now, startedAt, isFull) => {
      sample(now);
      limit.onResponse(now, startedAt, isFull);
    },
    onOverload: (now, retryAfterMs) => {
      sample(now);
      limit.onOverload(now, retryAfterMs);
    },
  };
  simulate(service, [client], 0, SECONDS * 1000);
  sample(SECONDS * 1000);
  return values.slice(0, SECONDS * SAMPLES_PER_SECOND);
}

function killOnce(cwd: string): void {
  const file = join(cwd, 'pid');
  const pid = Number(readFileSync(file, 'utf8'));
  writeFileSync(file, '0');
  if (pid > 0) process.kill(pid, 'SIGKILL');
}

/** Types into an interactive bash, and keeps the screen after each piece of output. */
async function record(cwd: string, url: string): Promise<TerminalFrame[]> {
  const batch = 'svc chat --batch prompts.jsonl -o answers.jsonl';
  const commands = [`${batch} --concurrency ${CONCURRENCY}  # killed`, `${batch} --resume`, SENT_TWICE];
  const prompts = Array.from({ length: LINES }, (_, at) => {
    const content = `Name river ${String(at + 1).padStart(3, '0')}`;
    return `${JSON.stringify({ messages: [{ role: 'user', content }] })}\n`;
  });
  writeFileSync(join(cwd, 'prompts.jsonl'), prompts.join(''));
  writeFileSync(join(cwd, 'svc'), `#!/bin/sh\necho $$ > pid\nexec "${process.execPath}" "${program}" "$@"\n`, {
    mode: 0o755,
  });
  writeFileSync(join(cwd, 'inputrc'), 'set enable-bracketed-paste off\n');
  const line = `stty cols ${COLUMNS} rows 40; exec bash --norc --noprofile -i`;
  const own = { PS1: '$ ', INPUTRC: join(cwd, 'inputrc'), TERM: 'xterm-256color', SHELL: '/bin/sh' };
  const env = cleanEnv(cwd, { ...own, SVC_BASE_URL: url, SVC_TOKEN: 'tok-en-1' });
  const path = `${cwd}:${process.env.PATH}`;
  const child = spawn('script', ['-qec', line, '/dev/null'], { cwd, env: { ...env, PATH: path } });
  const frames: TerminalFrame[] = [];
  const started = performance.now();
  let screen = '';
  child.stdout.on('data', (piece: Buffer) => {
    screen += piece;
    const lines = linesOf(screen);
    frames.push({ atMs: performance.now() - started, lines });
    if (lines.at(-1) !== '$ ') return;
    const command = commands.shift();
    if (command === undefined) child.stdin.end('\u0004');
    else child.stdin.write(`${command}\n`);
  });
  await waitForExit(child);
  return frames.slice(0, frames.findLastIndex(({ lines }) => lines.at(-1) === '$ ') + 1);
}

// What is on the screen: text after a carriage return replaces its line. bash writes "Killed" behind the progress, and the
// picture on a line of its own.
function linesOf(output: string): string[] {
  return output
    .replace(/\u001b\[\?\d+[hl]/g, '')
    .replace(/\r+\n/g, '\n')
    .replace(/(?<=\S)Killed/, '\nKilled')
    .split('\n')
    .map(
      (line) =>
        line
          .split(/\r|\u001b\[1G/)
          .at(-1)
          ?.replace(/\u001b\[\d*K/g, '') ?? '',
    );
}

/** The frames with time to read: before each command, and after it. */
function withPauses(frames: readonly TerminalFrame[]): TerminalFrame[] {
  let delayMs = 0;
  return frames.map(({ atMs, lines }, index) => {
    const before = frames[index - 1]?.lines.at(-1) ?? '';
    if (before === '$ ' || before.startsWith('$ svc')) delayMs += COMMAND_MS;
    return { atMs: atMs + delayMs, lines };
  });
}

function withFirstFrame(frames: readonly TerminalFrame[]): TerminalFrame[] {
  const later = frames.map(({ atMs, lines }) => ({ atMs: atMs + FIRST_FRAME_MS, lines }));
  return [{ atMs: 0, lines: frames.at(-1)?.lines ?? [] }, ...later];
}

// A batch that takes long enough has these.
const OVER_TIME = /^svc: (?:requests in flight|lines per second|held back by): /;

// The text that is visible at the end, without what depends on time: numbers, and the last progress before the kill.
function lastFrameOf(svg: string): string {
  return textOf(svg, (attributes) => !attributes.includes('visibility="hidden"'));
}

// The same of the beginning: the texts whose animation shows them from the start.
function firstFrameOf(svg: string): string {
  return textOf(svg, (attributes) => {
    const [, name = ''] = /animation-name:(\w+)/.exec(attributes) ?? [];
    return svg.includes(`@keyframes ${name}{0%{visibility:hidden}0.00%{visibility:visible}`);
  });
}

function textOf(svg: string, isShown: (attributes: string) => boolean): string {
  return [...svg.matchAll(/^<text ([^>]*)>(.*)<\/text>$/gm)]
    .filter(([, attributes = '']) => isShown(attributes))
    .map(([, , text = '']) => text.replace(/<[^>]*>/g, '').replace(/^[\u2800-\u28ff].*/, ''))
    .filter((text) => !OVER_TIME.test(text))
    .map((text) => text.replace(/\d[\d., -]*/g, 'N').replace(/\blines?\b/g, 'lines'))
    .join('\n');
}
