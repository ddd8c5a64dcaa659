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
    ['answer-question', undefined, { question: 'How do I reset my password?', user: 'u-4711' }],
    ['search-documents', 0, { query: 'reset password', limit: 5 }],
    ['embed-query', 1, { model: 'embed-1', tokens: 3 }],
    ['rank-results', 1, { candidates: 42 }],
    ['compose-answer', 0, { model: 'svc-local', temperature: 0.2 }],
  ] as const;
  const idAt = (at: number): string => `0199f3c0-5f3a-7c21-9b6e-00000000000${at}`;
  for (const [at, [op_name, parent, inputs]] of spans.entries()) {
    const start = {
      ...{ project_id: 'acme/support-bot', id: idAt(at + 1), trace_id: idAt(9), op_name, attributes: {}, inputs },
      ...(parent === undefined ? {} : { parent_id: idAt(parent + 1) }),
      started_at: `2026-01-31T12:00:0${at}.000Z`,
    };
    const headers = { 'Content-Type': 'application/json' };
    await fetch(`${url}/call/start`, { method: 'POST', headers, body: JSON.stringify({ start }) });
  }
  const browser = await chromium.launch({
    executablePath: executablePath ?? '',
    args: ['--no-sandbox', '--disable-lcd-text'],
  });
  const page = await browser.newPage({ viewport: { width: 920, height: 400 }, deviceScaleFactor: 1 });
  await page.goto(url);
  await page.getByText('compose-answer').first().click();
  await page.screenshot({ path: picture });
  await browser.close();
});
