import { existsSync, statSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { expect, it } from 'vitest';
import { serve } from '../support/process.ts';

const picture = new URL('../../docs/pictures/page.png', import.meta.url).pathname;
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const isDrawn = process.env.npm_lifecycle_event === 'pictures' && executablePath !== undefined;

it('the picture of the page is small', () => expect(statSync(picture).size).toBeLessThan(64_000));

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
  const browser = await chromium.launch({
    executablePath: executablePath ?? '',
    args: ['--no-sandbox', '--disable-lcd-text'],
  });
  const page = await browser.newPage({ viewport: { width: 1080, height: 460 }, deviceScaleFactor: 1 });
  await page.goto(url);
  await page.locator('.opener').first().click();
  await page.locator('.row', { hasText: 'compose-answer' }).click();
  await page.getByText('"score"').first().waitFor();
  await page.screenshot({ path: picture });
  await browser.close();
});
