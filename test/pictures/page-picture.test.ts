import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { expect, it } from 'vitest';
import { run, serve } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const pathOf = (name: string): string => new URL(`../../docs/pictures/${name}.png`, import.meta.url).pathname;
const picture = pathOf('page');
const themes = ['light', 'dark'] as const;
const pictures = ['page', ...themes.flatMap((theme) => [`lint-${theme}`, `batch-report-${theme}`])];
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const isDrawn = process.env.npm_lifecycle_event === 'pictures' && executablePath !== undefined;

// A screenshot is never the same twice: `npm run pictures` takes it, and nothing compares it.
it.runIf(isDrawn)('the picture of the page shows a trace', { timeout: 120_000 }, async () => {
  const { url } = await serve(['--no-auth']);
  const spans = [
    ['answer-question', undefined, 0, 1830, { question: 'How do I reset my password?', user: 'u-4711' }],
    ['search-documents', 0, 20, 590, { query: 'reset password', limit: 5 }],
    ['embed-query', 1, 30, 120, { model: 'embed-1', tokens: 3 }],
    ['rank-results', 1, 170, 430, { candidates: 42 }],
    ['compose-answer', 0, 640, 1180, { model: 'svc-local', temperature: 0.2 }],
  ] as const;
  const idAt = (at: number): string => `0199f3c0-5f3a-7c21-9b6e-00000000000${at}`;
  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const project_id = 'acme/support-bot';
  const about = (at: number, feedback_type: string, payload: object): Promise<Response> =>
    post('/feedback/replace', {
      ...{ project_id, feedback_id: 'none', feedback_type, payload },
      svc_ref: `svc:///${project_id}/call/${idAt(at + 1)}`,
    });
  for (const [at, [op_name, parent, startMs, duration_ms, inputs]] of spans.entries()) {
    const start = {
      ...{ project_id, id: idAt(at + 1), trace_id: idAt(9), op_name, attributes: {}, inputs },
      ...(parent === undefined ? {} : { parent_id: idAt(parent + 1) }),
      started_at: new Date(Date.UTC(2026, 0, 31, 12) + startMs).toISOString(),
    };
    await post('/call/start', { start });
    await about(at, 'exit', { exit_code: 0, duration_ms });
  }
  await about(4, 'quality', { score: 0.82, cites_source: true });
  const browser = await openBrowser();
  const page = await browser.newPage({ viewport: { width: 1080, height: 440 }, deviceScaleFactor: 1 });
  await page.goto(url);
  await page.locator('.opener').first().click();
  await page.locator('.row', { hasText: 'compose-answer' }).click();
  await page.getByText('"score"').first().waitFor();
  await page.screenshot({ path: picture });
  await browser.close();
});

function openBrowser() {
  return chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox', '--disable-lcd-text'] });
}

const reports: [name: string, args: readonly string[], lines: readonly object[]][] = [
  ['lint', ['train', 'lint', 'data.jsonl'], Array.from({ length: 60 }, (_, at) => group(at))],
  ['batch-report', ['batch', 'report', 'data.jsonl'], Array.from({ length: 900 }, (_, at) => resultLine(at))],
];

it.runIf(isDrawn).each(reports)('the pictures %s show a report', { timeout: 120_000 }, async (name, args, lines) => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'data.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  expect((await run([...args, '--html', 'r.html'], { cwd })).code).toBe(0);
  const browser = await openBrowser();
  for (const colorScheme of themes) {
    const page = await browser.newPage({ viewport: { width: 1080, height: 840 }, deviceScaleFactor: 1, colorScheme });
    await page.goto(`file://${cwd}/r.html`);
    // Down to the first two charts.
    const { y, height } = (await page.locator('figure').nth(1).boundingBox()) ?? { y: 0, height: 0 };
    const clip = { x: 0, y: 0, width: 1080, height: y + height + 12 };
    await page.screenshot({ path: pathOf(`${name}-${colorScheme}`), clip });
  }
  await browser.close();
});

it.each(pictures)('the picture %s is small', (name) => expect(statSync(pathOf(name)).size).toBeLessThan(80_000));

// A number from 0 to 1 that looks random and is always the same.
function noise(seed: number): number {
  return Math.abs(Math.sin(seed * 12.9898) * 43_758.5453) % 1;
}

// Every sixth has equal rewards; the others improve.
function group(number: number): object {
  const reward = (at: number): number =>
    Math.round(Math.min(1, noise(number * 8 + at) * 0.7 + number / 150) * 100) / 100;
  return {
    trajectories: Array.from({ length: 4 }, (_, at) => {
      const tokens = Array.from(
        { length: 8 + Math.floor(noise(number + at) * 60) },
        (__, index) => `token_id:${index}`,
      );
      const choice = {
        ...{ finish_reason: 'stop', index: 0, message: { role: 'assistant', content: 'yes' } },
        logprobs: { content: tokens.map((token) => ({ token, logprob: -0.5, top_logprobs: [] })) },
      };
      const items = [...Array.from({ length: 1 + (at % 3) }, () => ({ role: 'user', content: 'Is it?' })), choice];
      const version = 2 + Math.floor(number / 10);
      return {
        reward: number % 6 === 5 ? 0.5 : reward(at),
        final_policy_version: version,
        messages_and_choices: items,
      };
    }),
  };
}

// A line of an output, as svc writes it.
function resultLine(at: number): object {
  const isFailed = noise(at) > 0.96;
  const message = { role: 'assistant', content: `The capital of country ${at + 1} is city ${at + 1}.` };
  const usage = { prompt_tokens: 20 + (at % 30), completion_tokens: 5 + Math.floor(noise(at + 0.5) * 60) };
  const response = { model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
  const passed = noise(at + 0.25) > 0.1;
  const expectations = [{ expect: 'text', value: '^The capital', passed }];
  return {
    ...{ line: at + 1, id: null, status: isFailed ? 503 : 200, exit_code: isFailed ? 7 : 0 },
    ...(isFailed
      ? { applied: 'no', error: { code: 'unavailable', message: 'the service responded 503' } }
      : { applied: 'yes', response, expectations }),
    ...{ attempts: 1, ms: Math.round(120 * Math.exp(noise(at + 0.75) * 2.2) * (noise(at + 0.1) > 0.97 ? 4 : 1)) },
    ended_at: new Date(Date.UTC(2026, 0, 31) + (at + noise(at) * 40) * 70).toISOString(),
    checkpoint: { input: String(at).padStart(16, '0'), run: 'r', operation: '/v1/chat', shard: '1/1' },
  };
}
