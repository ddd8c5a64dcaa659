import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Served, serve, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!executablePath) process.stderr.write('skipped: the page of svc serve in a browser: chromium is missing\n');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const pageFiles = new URL('../../dist/page/', import.meta.url).pathname;

const ATTACK = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>';
const LARGE_INTEGER = '9007199254740993';
const trace = '0199f3c0-5f3a-7c21-9b6e-000000000001';
const callId = (at: number): string => `0199f3c0-5f3a-7c21-9b6e-1000000000${String(at).padStart(2, '0')}`;

async function post({ url, env }: Served, path: string, body: string): Promise<void> {
  const basic = Buffer.from(`${env.SVC_USERNAME}:${env.SVC_PASSWORD}`).toString('base64');
  const authorization = path.startsWith('/v1/') ? `Bearer ${env.SVC_TOKEN}` : `Basic ${basic}`;
  const headers = { 'Content-Type': 'application/json', Authorization: authorization };
  const response = await fetch(`${url}${path}`, { method: 'POST', body, headers });
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
}

const quoted = (text: string): string => JSON.stringify(text);
const call = (at: number, parent: number | undefined, name: string): string =>
  `{"start":{"project_id":"a/b","id":"${callId(at)}","trace_id":"${trace}",${parent === undefined ? '' : `"parent_id":"${callId(parent)}",`}"op_name":${quoted(name)},"started_at":"2026-01-01T00:00:00Z","attributes":{},"inputs":{"n":${LARGE_INTEGER},"text":${quoted(ATTACK)}}}}`;

async function filled(): Promise<Served> {
  const served = await serve(['--data', join(temporaryDirectory(), 'svc.db')]);
  await post(served, '/call/start', call(1, undefined, 'root'));
  await post(served, '/call/start', call(2, 1, `child ${ATTACK}`));
  await post(served, '/call/start', call(3, 2, 'grandchild'));
  await post(
    served,
    '/feedback/replace',
    `{"project_id":"a/b","feedback_id":"none","feedback_type":${quoted(ATTACK)},"svc_ref":"svc:///a/b/object/n:v","payload":{"score":${LARGE_INTEGER},"text":${quoted(ATTACK)}}}`,
  );
  const trajectories = [0, 0.5, 0.5, 1].map((reward) => `{"reward":${reward},"logs":[${quoted(ATTACK)}]}`).join(',');
  await post(
    served,
    '/v1/preview/training-jobs',
    `{"model_id":"${callId(9)}","trajectory_groups":[{"trajectories":[${trajectories}]}]}`,
  );
  for (const stream of [false, true])
    await post(
      served,
      '/v1/chat/completions',
      `{"stream":${stream},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":${quoted(`say ${ATTACK}`)}}]}`,
    );
  return served;
}

describe('the files of the page', () => {
  it('are at most 60 kB', () => {
    const sizes = readdirSync(pageFiles).map((name) => statSync(join(pageFiles, name)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(60_000);
  });

  it('need no credentials, and stored data needs Basic', async () => {
    const { url, env } = await serve();
    for (const path of ['/', '/page.js', '/page.css']) {
      const { status, headers } = await fetch(`${url}${path}`);
      expect([status, headers.get('content-security-policy')]).toEqual([
        200,
        expect.stringMatching(/^default-src 'none';/),
      ]);
    }
    const paths = ['calls', 'feedback', 'jobs', 'chats', 'trace', 'rewards', 'schema', 'export?table=calls'];
    for (const path of paths) expect((await fetch(`${url}/page/${path}`)).status, path).toBe(401);
    const headers = {
      Authorization: `Basic ${Buffer.from(`${env.SVC_USERNAME}:${env.SVC_PASSWORD}`).toString('base64')}`,
    };
    for (const path of paths) expect((await fetch(`${url}/page/${path}`, { headers })).status, path).toBe(200);
    expect((await fetch(`${url}/page/calls`, { method: 'POST', headers })).status).toBe(405);
    const foreign = { ...headers, Origin: 'http://evil.example' };
    expect((await fetch(`${url}/page/calls`, { headers: foreign })).status).toBe(403);
  });

  it('open in the program of BROWSER with --open', async () => {
    const { url, child } = await serve(['--open'], { env: { BROWSER: '/no/such/browser' } });
    const end = waitForExit(child);
    child.stderr?.once('data', () => child.kill('SIGTERM'));
    expect((await end).stderr).toContain(`could not start /no/such/browser; open ${url} in a browser`);
  });
});

describe.skipIf(!executablePath)('the page in a browser', { timeout: 120_000 }, () => {
  let browser: Browser;
  let served: Served;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });
  }, 120_000);
  afterAll(() => browser.close());

  async function openPage(
    hash: string,
    options: { width?: number; colorScheme?: 'dark' | 'light' } = {},
  ): Promise<Page> {
    const { width = 1200, colorScheme = 'light' } = options;
    served = await filled();
    const context = await browser.newContext({
      httpCredentials: { username: served.env.SVC_USERNAME ?? '', password: served.env.SVC_PASSWORD ?? '' },
      viewport: { width, height: 800 },
      colorScheme,
    });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.on('pageerror', (error) => expect.unreachable(String(error)));
    page.on('dialog', () => expect.unreachable('an attack ran'));
    await page.goto(`${served.url}/${hash}`);
    await page.locator('#list > li').first().waitFor();
    return page;
  }

  const findings = async (page: Page): Promise<unknown> =>
    page.evaluate(
      `${axe}; axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`,
    );
  const openAll = async (page: Page): Promise<void> => {
    for (const item of await page.locator('#list > li > details, #extra > details').all()) {
      await item.locator('> summary').click();
      await item.locator('> div > *').first().waitFor();
    }
  };

  it.each([
    ['#calls', 1200, 'light'],
    ['#feedback', 1200, 'dark'],
    ['#jobs', 390, 'light'],
    ['#chats', 390, 'dark'],
  ] as const)(
    'shows %s at %d pixels in %s: accessible, within its width, with stored text as text',
    async (hash, width, colorScheme) => {
      const page = await openPage(hash, { width, colorScheme });
      await openAll(page);
      for (const summary of await page.locator('li li summary').all()) await summary.click();
      expect(await findings(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(await page.evaluate('window.attacked')).toBeUndefined();
      expect(await page.locator('main img, main script').count()).toBe(0);
      const text = await page.locator('main').innerText();
      if (hash !== '#jobs') expect(text).toContain(ATTACK);
      if (hash === '#calls' || hash === '#feedback') expect(text).toContain(LARGE_INTEGER);
      if (hash === '#calls') {
        expect(await page.locator('#list > li').count()).toBe(1);
        expect(await page.locator('#list ul ul ul > li > details > summary').innerText()).toContain('grandchild');
      }
      if (hash === '#feedback') expect(text).toMatch(/score\s+numeric/);
      if (hash === '#jobs') expect(text).toMatch(/4 trajectories; 4 rewards in 1 group, from 0 to 1, mean 0\.5/);
      if (hash === '#chats') {
        const articles = await page.locator('article h3').allInnerTexts();
        expect(articles).toEqual(['system', 'user', 'assistant', 'system', 'user', 'assistant']);
        const [streamed, whole] = await page.locator('article.assistant').allInnerTexts();
        expect(streamed).toBe(whole);
      }
    },
  );

  it('shows a trace of 40 levels within the width of a phone', async () => {
    const page = await openPage('#calls', { width: 360 });
    for (let at = 4; at <= 40; at += 1) await post(served, '/call/start', call(at, at - 1, `level ${at}`));
    await page.locator('#list summary').first().click();
    await page.getByText('level 40', { exact: true }).click();
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  it('is used by keyboard, searches, shows new records as they arrive, and exports', async () => {
    const page = await openPage('#calls');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('Skip to the records');
    await page.locator('#list > li summary').first().focus();
    await page.keyboard.press('Enter');
    await page.locator('#list ul').first().waitFor();
    await page.locator('nav a[href="#feedback"]').focus();
    await page.keyboard.press('Enter');
    await page.locator('#extra details').waitFor();
    // The link that skips the navigation stays in its table.
    await page.locator('a[href="#main"]').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('location.hash')).toBe('#main');
    expect(await page.locator('#title').innerText()).toBe('Feedback');
    await page.locator('nav a[href="#calls"]').click();

    await post(served, '/call/start', call(7, undefined, 'later').replace(trace, callId(8)));
    await page.locator('#list > li', { hasText: 'later' }).waitFor();
    expect(await page.locator('#list > li').count()).toBe(2);

    await page.locator('#search').fill('GRANDCHILD');
    await page.locator('#list > li').filter({ hasText: 'later' }).waitFor({ state: 'detached' });
    await page.locator('#list > li').first().waitFor();
    expect(await page.locator('#list > li').count()).toBe(1);
    const download = page.waitForEvent('download');
    await page.locator('#export').click();
    const lines = readFileSync(await (await download).path(), 'utf8')
      .trim()
      .split('\n');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`"n":${LARGE_INTEGER}`);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ id: callId(3), start: { op_name: 'grandchild' } });
    await page.locator('#search').fill('no such text');
    await page.getByText('No records.').waitFor();
  });

  it('shows every record of a burst, changed records, and responses in any form', async () => {
    const page = await openPage('#calls');
    const burst = Array.from({ length: 120 }, (_, at) =>
      call(10, undefined, `burst ${at}`)
        .replace(callId(10), `0199f3c0-5f3a-7c21-9b6e-400000000${100 + at}`)
        .replace(trace, `0199f3c0-5f3a-7c21-9b6e-500000000${100 + at}`),
    );
    await Promise.all(burst.map((body) => post(served, '/call/start', body)));
    await expect.poll(() => page.locator('#list > li', { hasText: 'burst' }).count(), { timeout: 60_000 }).toBe(120);

    const id = '0199f3c0-5f3a-7c21-9b6e-300000000001';
    const feedback = (note: string): string =>
      `{"project_id":"a/b","id":"${id}","feedback_id":"${id}","feedback_type":"note","svc_ref":"svc:///a/b/object/n:v","payload":{"note":"${note}"}}`;
    await post(served, '/feedback/replace', feedback('first version'));
    await page.locator('nav a[href="#feedback"]').click();
    const item = page.locator('#list > li', { hasText: 'note' });
    await item.locator('summary').click();
    await item.getByText('first version').waitFor();
    await post(served, '/feedback/replace', feedback('second version'));
    await item.getByText('second version').waitFor();
    expect(await item.count()).toBe(1);

    const tools = '"tools":[{"type":"function","function":{"name":"find_parcel"}}],"tool_choice":"required"';
    await post(
      served,
      '/v1/chat/completions',
      `{"stream":true,${tools},"messages":[{"role":"user","content":"Where is it?"}]}`,
    );
    await page.locator('nav a[href="#chats"]').click();
    const chat = page.locator('#list > li', { hasText: 'Where is it?' });
    await chat.locator('> details > summary').click();
    expect(await chat.locator('article.assistant').innerText()).toContain('"name":"find_parcel"');
  });

  it('responds from a recording that another tool imports', async () => {
    const har = join(temporaryDirectory(), 'models.har');
    const { url, env } = await serve(['--record', har]);
    const response = await fetch(`${url}/v1/models`, { headers: { Authorization: `Bearer ${env.SVC_TOKEN}` } });
    const body = await response.text();
    // An entry is written when the response has left.
    await expect.poll(() => readFileSync(har, 'utf8')).toContain('/v1/models');
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    await context.routeFromHAR(har, { notFound: 'abort' });
    const page = await context.newPage();
    const replayed = await page.goto('http://localhost/v1/models');
    expect([replayed?.status(), await replayed?.text()]).toEqual([200, body]);
    await expect(page.goto('http://localhost/healthz')).rejects.toThrow();
  });
});
