import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { noPostgres, type PostgresServer, postgresServer } from '../support/postgres.ts';
import { inShell, run, type Served, serve, waitForExit } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!executablePath) process.stderr.write('skipped: the page of svc serve in a browser: chromium is missing\n');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const pageFiles = new URL('../../dist/page/', import.meta.url).pathname;

const ATTACK = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>';
const LARGE_INTEGER = '9007199254740993';
const trace = '0199f3c0-5f3a-7c21-9b6e-000000000001';
const callId = (at: number): string => `0199f3c0-5f3a-7c21-9b6e-1000000000${String(at).padStart(2, '0')}`;

// On a busy machine, a second is short.
const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 60_000 });

async function post({ url, env }: Served, path: string, body: string): Promise<void> {
  const basic = Buffer.from(`${env.SVC_USERNAME}:${env.SVC_PASSWORD}`).toString('base64');
  const authorization = path.startsWith('/v1/') ? `Bearer ${env.SVC_TOKEN}` : `Basic ${basic}`;
  const headers = { 'Content-Type': 'application/json', Authorization: authorization };
  const response = await fetch(`${url}${path}`, { method: 'POST', body, headers });
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
}

const SENDERS = 64;

/** Starts `count` calls, each by one of a few senders, whose connections are never idle. */
async function startCalls(
  { url, env }: Served,
  count: number,
  bodyOf: (number: number) => string | Promise<string>,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: SENDERS });
  onTestFinished(() => agent.destroy());
  const basic = Buffer.from(`${env.SVC_USERNAME}:${env.SVC_PASSWORD}`).toString('base64');
  const headers = { 'Content-Type': 'application/json', Authorization: `Basic ${basic}` };
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      const body = await bodyOf(next);
      const sent = request(`${url}/call/start`, { method: 'POST', agent, headers }).end(body);
      const [response] = await once(sent, 'response');
      expect([response.statusCode, await readText(response)]).toEqual([200, expect.anything()]);
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
}

const quoted = (text: string): string => JSON.stringify(text);
const call = (at: number, parent: number | undefined, name: string): string =>
  `{"start":{"project_id":"a/b","id":"${callId(at)}","trace_id":"${trace}",${parent === undefined ? '' : `"parent_id":"${callId(parent)}",`}"op_name":${quoted(name)},"started_at":"2026-01-01T00:00:00Z","attributes":{},"inputs":{"n":${LARGE_INTEGER},"text":${quoted(ATTACK)}}}}`;

async function filled(data: string): Promise<Served> {
  const served = await serve(['--data', data]);
  await post(served, '/call/start', call(1, undefined, 'root'));
  await post(served, '/call/start', call(2, 1, `child ${ATTACK}`));
  await post(served, '/call/start', call(3, 2, 'grandchild'));
  await post(
    served,
    '/feedback/replace',
    `{"project_id":"a/b","feedback_id":"none","feedback_type":${quoted(ATTACK)},"svc_ref":"svc:///a/b/object/n:v","payload":{"score":${LARGE_INTEGER},"text":${quoted(ATTACK)}}}`,
  );
  for (const [at, payload] of [
    [1, '{"exit_code":0,"duration_ms":900}'],
    [2, '{"exit_code":1,"duration_ms":700}'],
    [2, `{"score":${LARGE_INTEGER}}`],
  ] as const)
    await post(
      served,
      '/feedback/replace',
      `{"project_id":"a/b","feedback_id":"none","feedback_type":"quality","svc_ref":"svc:///a/b/call/${callId(at)}","payload":${payload}}`,
    );
  const group = (rewards: readonly number[], version: number): string =>
    `{"trajectories":[${rewards.map((reward) => `{"reward":${reward},"final_policy_version":${version},"messages_and_choices":[{"role":"user","content":"x"}],"logs":[${quoted(ATTACK)}]}`).join(',')}]}`;
  const groups = [group([0, 0.5, 0.5, 1], 1), group([0.5, 0.5], 2)].join(',');
  const config = `{"name":${quoted(ATTACK)}}`;
  await post(
    served,
    '/v1/preview/training-jobs',
    `{"model_id":"${callId(9)}","trajectory_groups":[${groups}],"experimental_config":${config}}`,
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
    for (const path of ['/', '/page.js', '/page.css', '/report.css']) {
      const { status, headers } = await fetch(`${url}${path}`);
      expect([status, headers.get('content-security-policy')]).toEqual([
        200,
        expect.stringMatching(/^default-src 'none';/),
      ]);
    }
    const tables = ['calls', 'feedback', 'jobs', 'chats'];
    const paths = [...tables, 'trace', 'lint', 'record?table=jobs', 'export?table=calls'];
    for (const path of paths) expect((await fetch(`${url}/page/${path}`)).status, path).toBe(401);
    const headers = {
      Authorization: `Basic ${Buffer.from(`${env.SVC_USERNAME}:${env.SVC_PASSWORD}`).toString('base64')}`,
    };
    for (const path of paths) expect((await fetch(`${url}/page/${path}`, { headers })).status, path).toBe(200);
    expect((await fetch(`${url}/page/login`, { method: 'POST', body: 'guessed' })).status).toBe(403);
    const guessed = { Authorization: 'Bearer guessed' };
    expect((await fetch(`${url}/page/calls`, { headers: guessed })).status).toBe(401);
    expect((await fetch(`${url}/page/calls`, { method: 'POST', headers })).status).toBe(405);
    const foreign = { ...headers, Origin: 'http://evil.example' };
    expect((await fetch(`${url}/page/calls`, { headers: foreign })).status).toBe(403);
  });

  it('open in the program of BROWSER with --open, by a link with a code that works once', async () => {
    const { url, child } = await serve(['--open'], { env: { BROWSER: '/no/such/browser' } });
    const end = waitForExit(child);
    let text = '';
    child.stderr?.on('data', (piece) => {
      text += piece;
    });
    await eventually(() => text).toContain('could not start /no/such/browser; open');
    const [, code = ''] = /#code=([\w-]+)/.exec(text) ?? [];
    const exchange = () => fetch(`${url}/page/login`, { method: 'POST', body: code });
    const { token } = (await (await exchange()).json()) as { token: string };
    expect((await exchange()).status).toBe(403);
    const headers = { Authorization: `Bearer ${token}` };
    expect((await fetch(`${url}/page/calls`, { headers })).status).toBe(200);
    // It reads the page, and nothing else.
    expect((await fetch(`${url}/metrics`, { headers })).status).toBe(401);
    expect((await fetch(`${url}/v1/models`, { headers })).status).toBe(401);
    expect((await fetch(`${url}/call/start`, { method: 'POST', headers, body: '{}' })).status).toBe(401);
    child.kill('SIGTERM');
    expect((await end).stderr).toContain(`open within 60 s, once: ${url}/#code=${code}`);
  });
});

const postgresReason = noPostgres();
let browser: Browser;
let server: PostgresServer | undefined;
beforeAll(async () => {
  if (!executablePath) return;
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  if (!postgresReason) server = await postgresServer();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  server?.remove();
});

const stores = [
  ['an embedded database', () => join(temporaryDirectory(), 'svc.db')],
  ['PostgreSQL', () => server?.newDatabase() ?? ''],
] as const;

describe.skipIf(!executablePath).each(stores)('the page in a browser, on %s', { timeout: 120_000 }, (name, newData) => {
  const test = it.skipIf(name === 'PostgreSQL' && Boolean(postgresReason));
  let served: Served;

  async function openPage(
    hash: string,
    options: { width?: number; colorScheme?: 'dark' | 'light' } = {},
  ): Promise<Page> {
    const { width = 1200, colorScheme = 'light' } = options;
    served = await filled(newData());
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
    await page.locator('.opener').first().waitFor();
    return page;
  }

  const findings = async (page: Page): Promise<unknown> =>
    page.evaluate(
      `${axe}; axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`,
    );
  const expectReadable = async (page: Page): Promise<void> => {
    expect(await findings(page)).toEqual([]);
    const wide = "[document.documentElement, ...document.querySelectorAll('#list, #panel')]";
    expect(await page.evaluate(`${wide}.filter((each) => each.scrollWidth > each.clientWidth).length`)).toBe(0);
    expect(await page.evaluate('window.attacked')).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
  };

  const looks = [
    [320, 'light'],
    [360, 'dark'],
    [768, 'light'],
    [1280, 'light'],
    [1280, 'dark'],
  ] as const;
  const views = ['calls', 'feedback', 'jobs', 'chats'].flatMap((view) => looks.map((look) => [view, ...look] as const));
  test.each(views)(
    'shows %s at %d pixels in %s: accessible, within its width, with stored text as text',
    async (view, width, colorScheme) => {
      const page = await openPage(`#${view}`, { width, colorScheme });
      await expectReadable(page);
      const openers = page.locator('.opener');
      await (view === 'feedback' ? openers.last() : openers.first()).click();
      if (view === 'calls') {
        // Failures stand out.
        const color = "(name) => getComputedStyle(document.querySelector('.tree').querySelector(name)).color";
        await page.locator('.row .badge').nth(1).waitFor();
        expect(await page.locator('.row .badge.failed').innerText()).toBe('✕ failed');
        expect(await page.evaluate(`new Set(['.badge.failed', '.badge:not(.failed)'].map(${color})).size`)).toBe(2);
        await page.locator('.row', { hasText: 'child <img' }).click();
      }
      await page.locator('#panel > h2').waitFor();
      if (view === 'jobs') await page.locator('#panel figure').first().waitFor();
      await expectReadable(page);
      const text = await page.locator('main').innerText();
      expect(text).toContain(ATTACK);
      if (view === 'calls') {
        expect(await page.locator('[role=treeitem][aria-level="3"]').innerText()).toContain('grandchild');
        expect(text).toMatch(/900 ms.*700 ms.*no end/s);
        expect(text).toContain(`quality score=${LARGE_INTEGER}`);
      }
      if (view === 'calls' || view === 'feedback') expect(text).toContain(LARGE_INTEGER);
      if (view === 'jobs') {
        const cells = await page.locator('tbody tr').first().locator('td').allInnerTexts();
        if (width > 900) expect(cells.slice(3, 8)).toEqual(['2', '1', '6', '0.5', ' 0 to 1']);
        expect(await page.locator('#panel h3').allInnerTexts()).toEqual([
          'zero-variance: 1 finding all rewards of a group are equal, so there is no training signal',
          'no-logprobs: 6 findings no choice of a trajectory has logprobs, so it cannot be trained on',
          'Configuration',
        ]);
        expect(text).toContain('trajectory_groups[1]');
        expect(text).toContain('trajectory_groups[0].trajectories[3]');
        // A group without a difference is marked.
        expect(await page.locator('#panel .point.bad').count()).toBe(1);
      }
      if (view === 'chats') {
        expect(await page.locator('article h3').allInnerTexts()).toEqual(['system', 'user', 'assistant']);
        const row = page.locator('tbody tr').last();
        expect(await row.textContent()).toMatch(/svc-local.*ms.*\d+ \+ \d+.*stop/s);
        const streamed = await page.locator('article').last().innerText();
        // On a small screen, the panel replaces the list.
        if (width < 900) await page.getByRole('link', { name: 'Close' }).click();
        await page.locator('.opener').last().click();
        await eventually(() => page.locator('article').last().innerText()).toBe(streamed);
      }
    },
  );

  test('keeps its state in the URL: links, back, reload', async () => {
    const page = await openPage('#feedback');
    await page.locator('input[name=q]').fill('SCORE');
    await eventually(() => page.evaluate('location.hash')).toBe('#feedback?q=SCORE');
    await page.getByText('2 records match text “SCORE”').waitFor();
    await eventually(() => page.locator('#panel mark').count()).toBe(0);
    await page.locator('.opener').first().click();
    await page.locator('#panel > h2').waitFor();
    const [url, heading] = [page.url(), await page.locator('#panel > h2').innerText()];
    await page.reload();
    await page.locator('#panel > h2').waitFor();
    expect([page.url(), await page.locator('#panel > h2').innerText()]).toEqual([url, heading]);
    expect(await page.locator('input[name=q]').inputValue()).toBe('SCORE');
    // What was found is marked.
    expect(await page.locator('#panel mark').first().innerText()).toBe('score');
    await page.goBack();
    await page.locator('#panel > h2').waitFor({ state: 'detached' });
    expect(page.url()).toContain('#feedback?q=SCORE');
    await page.locator('summary', { hasText: 'More filters' }).click();
    await page.locator('input[name=type]').fill('quality');
    await eventually(() => page.locator('.opener').allInnerTexts()).toEqual(['quality']);
    // A filter that selects is in view.
    await page.reload();
    expect(await page.locator('input[name=type]').inputValue()).toBe('quality');
    expect(await page.locator('input[name=type]').isVisible()).toBe(true);
    await page.locator('input[name=user]').fill('nobody');
    await page.getByText('No match for text “SCORE”, feedback type “quality”, creator “nobody”.').waitFor();
    await page.locator('input[name=until]').fill('2030-01-01T00:00');
    await page.getByText('Live (paused: the time range has an end)').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await eventually(() => page.locator('.opener').count()).toBe(4);
    // Histograms of the numbers, with their limits.
    const charts = page.locator('thead svg');
    const labels = ['duration_ms', 'exit_code', 'score'].map((name) => `${name}: 2 values in the rows below`);
    expect(await charts.evaluateAll((all) => all.map((chart) => chart.getAttribute('aria-label')))).toEqual(labels);
    await page.goto(`${served.url}/#calls?op=grandchild`);
    await eventually(() => page.locator('td.main').allInnerTexts()).toEqual(['root 1 of 3 calls matches: grandchild']);
    await page.locator('.opener').click();
    await page.getByRole('heading', { name: 'grandchild' }).waitFor();
    expect(await page.locator('#panel time').first().innerText()).toMatch(/:\d\d\.\d{3} UTC/);
    expect(await page.locator('[aria-selected=true]').innerText()).toContain('grandchild');
  });

  test('shows of a stored job what svc train lint --html shows of its file', async () => {
    const page = await openPage('#jobs');
    const rewards = (group: number): string[] => {
      if (group === 3) return ['1.7e308', '1.7e308', '-1.7e308'];
      if (group === 5) return ['1e400', LARGE_INTEGER];
      return Array.from({ length: group % 5 }, (_, at) =>
        group % 4 === 0 ? '0.5' : ((group * at * 0.37) % 1).toFixed(3),
      );
    };
    const trajectory = (reward: string, group: number): string =>
      `{"reward":${reward},"final_policy_version":${group % 7},"messages_and_choices":[{"role":"user","content":"x"},{"message":{"role":"assistant"},"logprobs":{"content":[${Array.from({ length: group }, (_, at) => `{"token":"${group === 9 ? '<b>' : 'token_id:'}${at}","logprob":-1}`).join()}]}}]}`;
    const groups = Array.from({ length: 50 }, (_, group) => rewards(group).map((reward) => trajectory(reward, group)));
    const texts = groups.map((all) => `{"trajectories":[${all.join(',')}]}`);
    const body = `{"model_id":"${callId(9)}","trajectory_groups":[${texts.join(',')}],"experimental_config":null}`;
    await post(served, '/v1/preview/training-jobs', body);
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'groups.jsonl'), texts.join('\n'));
    expect((await run(['train', 'lint', 'groups.jsonl', '--html', 'r.html'], { cwd })).code).toBe(0);
    const report = await page.context().newPage();
    await report.goto(`file://${cwd}/r.html`);
    await page.locator('.opener').nth(1).waitFor();
    await page.locator('.opener').first().click();
    await page.locator('#panel figure').first().waitFor();
    // All of it but the places in the file, which the table has first, and the size of what is between the trajectories.
    const shown = (container: Locator): Promise<string[]> =>
      container
        .locator(
          'dl:has(dt:text-is("Groups")) div:not(:has(dt:text-is("Size"))), figure, .report > h3, td:nth-last-child(-n+2)',
        )
        .evaluateAll((elements) => elements.map(({ textContent }) => textContent ?? ''));
    const [onPage, inReport] = [await shown(page.locator('#panel')), await shown(report.locator('body'))];
    expect(onPage.length).toBeGreaterThan(100);
    expect(onPage).toEqual(inReport);
    expect(onPage.join()).not.toMatch(/NaN/);
    await expectReadable(page);
    const row = page.locator('tbody tr').first();
    expect(await row.locator('td').nth(7).innerText()).toBe(' -1.7e308 to 1e400');
  });

  test('finds the slowest failed trace with two actions, by mouse and by keyboard', async () => {
    const page = await openPage('#calls');
    const traceOf = (at: number): string => `0199f3c0-5f3a-7c21-9b6e-6000000000${10 + at}`;
    const idOf = (at: number): string => `0199f3c0-5f3a-7c21-9b6e-7000000000${10 + at}`;
    // The slowest one did not fail.
    for (const [at, exitCode, ms] of [
      [1, 1, 4000],
      [2, 0, 9_000_000],
      [3, 1, 6000],
      [4, 1, 5000],
    ] as const) {
      const body = call(1, undefined, `trace-${at}`).replace(callId(1), idOf(at)).replace(trace, traceOf(at));
      await post(served, '/call/start', body);
      const end = `{"project_id":"a/b","feedback_id":"none","feedback_type":"exit","svc_ref":"svc:///a/b/call/${idOf(at)}","payload":{"exit_code":${exitCode},"duration_ms":${ms}}}`;
      await post(served, '/feedback/replace', end);
    }
    const names = async (): Promise<string[]> => page.locator('td.main .opener').allInnerTexts();
    await page.getByRole('button', { name: 'Duration' }).click();
    await page.getByText('✕ Failed').click();
    await eventually(names).toEqual(['trace-3', 'trace-4', 'trace-1', 'root']);
    expect(await page.locator('th[aria-sort=descending]').innerText()).toMatch(/^Duration/);
    expect(page.url()).toContain('#calls?sort=duration&failed=yes');
    // It names the calls that failed, and opens at the first of them.
    expect(await page.locator('td.main').last().innerText()).toMatch(/^root 1 of 3 calls matches: child /);
    await page.getByRole('button', { name: 'Clear' }).click();
    await eventually(names).toHaveLength(5);
    await page.locator('#sort-duration').focus();
    await page.keyboard.press('Enter');
    await eventually(names).toEqual(['trace-2', 'trace-3', 'trace-4', 'trace-1', 'root']);
    const durations = await page.locator('td[title=Duration]').allInnerTexts();
    expect(durations).toEqual(['2.5 h', '6.000 s', '5.000 s', '4.000 s', '900 ms']);
    await page.locator('input[value=yes]').focus();
    await page.keyboard.press('Space');
    await eventually(names).toEqual(['trace-3', 'trace-4', 'trace-1', 'root']);
    expect(await findings(page)).toEqual([]);
    await page.locator('input[name=duration]').fill('long');
    await page.getByText('✕ duration "long" must be one like').waitFor();
  });

  test('draws two jobs beside each other on the same axes, and keeps all columns beside a record', async () => {
    const page = await openPage('#jobs', { width: 1440 });
    const trajectories = [3, 9].map((reward) => `{"reward":${reward},"messages_and_choices":[]}`).join();
    const body = `{"model_id":"${callId(9)}","trajectory_groups":[{"trajectories":[${trajectories}]}],"experimental_config":{"name":"other"}}`;
    await post(served, '/v1/preview/training-jobs', body);
    await page.locator('.opener', { hasText: 'other' }).waitFor();
    for (const name of await page.locator('td.main').allInnerTexts()) expect(name).not.toMatch(/^[0-9a-f-]{36}$/);
    await page.locator('.opener', { hasText: 'other' }).click();
    await page.locator('#compare').selectOption({ index: 1 });
    const figures = page.locator('.report table').first();
    await figures.getByText('Standard deviation').waitFor();
    expect(await figures.innerText()).toMatch(/\tChange\n.*Mean reward\t6\t0.5\t-5.5\n/s);
    expect(await figures.innerText()).toMatch(/Without a reward\t0\t0\t\n/);
    expect(await page.locator('.report table').nth(1).innerText()).toMatch(/\n≠ name\t"other"\t/);
    const cut = 'document.querySelector("#compare").scrollWidth > document.querySelector("#compare").clientWidth';
    expect(await page.evaluate(cut)).toBe(false);
    await page.locator('figure', { hasText: 'Rewards: other' }).waitFor();
    const ticks = (at: number): Promise<string[]> =>
      page.locator('figure').nth(at).locator('text[dy="16"]').allTextContents();
    const tops = await page.locator('figure').evaluateAll((all) => all.map(({ offsetTop }) => offsetTop));
    expect([tops[0], await ticks(0)]).toEqual([tops[1], await ticks(1)]);
    expect(await page.locator('#panel thead').first().innerText()).toMatch(/Figure\s+other/);
    const columns = 'document.querySelector("#list").scrollWidth <= document.querySelector("#list").clientWidth';
    expect(await page.evaluate(columns)).toBe(true);
    await expectReadable(page);
  });

  test('says with which command an empty list is filled', async () => {
    served = await serve(['--data', newData(), '--no-auth']);
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    for (const [view, row] of [
      ['calls', 'hello'],
      ['feedback', 'quality'],
      ['chats', 'Say hello.'],
    ] as const) {
      await page.goto(`${served.url}/#${view}`);
      const command = await page.locator('.empty pre').innerText();
      const [, setting = '', args = ''] = /^(SVC_BASE_URL=\S+) svc (.*)$/s.exec(command) ?? [];
      const credentials = { SVC_TOKEN: 'x', SVC_USERNAME: 'x', SVC_PASSWORD: 'x' };
      const { code, stderr } = await inShell(`${setting} svc ${args}`, { env: credentials });
      expect(code, stderr).toBe(0);
      await page.locator('td.main', { hasText: row }).waitFor();
    }
  });

  test('finds the slowest call of a trace, its inputs and its score with two actions', async () => {
    const page = await openPage('#calls');
    await page.locator('.opener').first().click();
    await page.getByRole('button', { name: /child .* 700 ms/ }).click();
    await page.getByRole('heading', { name: /^child/ }).waitFor();
    const panel = await page.locator('#panel').innerText();
    expect(panel).toContain(`"score": ${LARGE_INTEGER}`);
    expect(panel).toContain(`"n": ${LARGE_INTEGER}`);
  });

  test('copies a call as JSON, as a curl command and as a svc command that store it again', async () => {
    const page = await openPage('#calls');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: served.url });
    await page.locator('.opener').first().click();
    await page.locator('.row', { hasText: 'child <img' }).click();
    const copied: string[] = [];
    for (const name of ['JSON', 'curl', 'svc']) {
      await page.getByRole('button', { name: `Copy ${name}` }).click();
      await page.getByText(`Copied the ${name}.`).waitFor();
      copied.push(await page.evaluate('navigator.clipboard.readText()'));
    }
    expect(JSON.parse(copied[0] ?? '').start).toMatchObject({ id: callId(2) });
    const { SVC_BASE_URL: _, ...env } = served.env;
    const curl = await inShell(`${copied[1]} -sS`, { env });
    expect(JSON.parse(curl.stdout)).toEqual({ id: callId(2), trace_id: trace });
    const svc = await inShell(`${copied[2]?.replace(/(SVC_BASE_URL=\S+) svc/, 'svc')} --json`, { env: served.env });
    expect([svc.code, JSON.parse(svc.stdout)]).toMatchObject([0, { id: callId(2) }]);
  });

  test('is used by keyboard alone', async () => {
    const page = await openPage('#calls');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('Skip to the records');
    await page.keyboard.press('Enter');
    expect(await page.locator('main:focus').count()).toBe(1);
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.locator('[role=tree]:focus').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('#panel').getByRole('heading', { name: 'root' }).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: /^child/ }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await eventually(() => page.locator('.row').count()).toBe(2);
    await page.keyboard.press('ArrowRight');
    await eventually(() => page.locator('.row').count()).toBe(3);
    await page.keyboard.press('p');
    expect(await page.locator('#panel :focus').innerText()).toBe('Close');
    await page.keyboard.press('Escape');
    await page.locator('#panel').waitFor({ state: 'hidden' });
    expect(await page.locator('[role=tree]:focus').count()).toBe(1);
    await page.keyboard.press('Escape');
    await page.locator('#trace').waitFor({ state: 'hidden' });
    await page.locator('tbody .opener:focus', { hasText: 'root' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('[role=tree]:focus').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('#panel').getByRole('heading', { name: 'root' }).waitFor();
    await page.keyboard.press('p');
    await page.keyboard.press('Escape');
    await page.locator('#panel').waitFor({ state: 'hidden' });
    expect(await page.locator('[role=tree]:focus').count()).toBe(1);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.locator('dialog').waitFor();
    expect(await findings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.keyboard.type('no such text');
    await page.getByText('No match for text “no such text”.').waitFor();
  });

  test('draws only the rows in view of a trace of 10,000 calls, 5,000 of them below each other', async () => {
    const page = await openPage('#calls');
    const hexId = (number: number): string => String(number).padStart(16, '0');
    const big = '0199f3c0-5f3a-7c21-9b6e-000000000099';
    await startCalls(served, 10_000, (at) => {
      const number = 9999 + at;
      const parent = at === 1 ? '' : `"parent_id":"${hexId(number > 15_000 ? 10_000 : number - 1)}",`;
      const time = new Date(Date.UTC(2026, 0, 1) + number).toISOString();
      return `{"start":{"project_id":"a/b","id":"${hexId(number)}","trace_id":"${big}",${parent}"op_name":"op-${number}","started_at":"${time}","attributes":{},"inputs":{}}}`;
    });
    await page.goto(`${served.url}/#calls?trace=${big}`);
    await page.getByText('10,000 calls').waitFor();
    expect(await page.locator('.row').count()).toBeLessThan(80);
    await page.keyboard.press('End');
    await page.getByRole('heading', { name: 'op-19999' }).waitFor();
    expect(await page.locator('[aria-selected=true]').innerText()).toContain('op-19999');
    expect(await page.locator('.row').count()).toBeLessThan(80);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  test('shows new records as they arrive, changed ones, and exports those that match', async () => {
    const page = await openPage('#calls');
    await post(served, '/call/start', call(7, undefined, 'later').replace(trace, callId(8)));
    await page.locator('tbody tr', { hasText: 'later' }).waitFor();
    const burst = Array.from({ length: 120 }, (_, at) =>
      call(10, undefined, `burst ${at}`)
        .replace(callId(10), `0199f3c0-5f3a-7c21-9b6e-400000000${100 + at}`)
        .replace(trace, `0199f3c0-5f3a-7c21-9b6e-500000000${100 + at}`),
    );
    await Promise.all(burst.map((body) => post(served, '/call/start', body)));
    // The newest page; the list goes back from there.
    await page.locator('nav', { hasText: 'Traces 122' }).waitFor();
    const older = page.getByRole('button', { name: 'Load more' });
    const loadOlder = async (): Promise<number> => {
      if (await older.isVisible()) await older.click({ timeout: 1000 }).catch(() => {});
      return page.locator('tbody tr', { hasText: 'burst' }).count();
    };
    await eventually(loadOlder).toBe(120);
    await page.locator('input[name=q]').fill('GRANDCHILD');
    await eventually(() => page.locator('tbody tr').count()).toBe(1);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const lines = readFileSync(await (await download).path(), 'utf8')
      .trim()
      .split('\n');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`"n":${LARGE_INTEGER}`);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ id: callId(3), start: { op_name: 'grandchild' } });

    const tools = '"tools":[{"type":"function","function":{"name":"find_parcel"}}],"tool_choice":"required"';
    const body = `{"stream":true,${tools},"messages":[{"role":"user","content":"Where is it?"}]}`;
    await post(served, '/v1/chat/completions', body);
    await page.locator('nav a[href="#chats"]').click();
    await page.locator('.opener', { hasText: 'Where is it?' }).click();
    await eventually(() => page.locator('article').last().innerText()).toMatch(/\ncalls find_parcel\s+\{\}$/);
  });

  test('shows each of 1,000 calls per second, and each key that is pressed meanwhile', async () => {
    const page = await openPage('#calls');
    const [count, perSecond] = [5000, 1000];
    // Call n is due n milliseconds after the start; a service that is slower gets it when a sender is free.
    const startedAt = performance.now();
    let [late, isSending] = [0, true];
    const sending = startCalls(served, count, async (number) => {
      const dueInMs = (number * 1000) / perSecond - (performance.now() - startedAt);
      if (dueInMs < -100) late += 1;
      if (dueInMs > 0) await setTimeout(dueInMs);
      const own = String(number).padStart(16, '0');
      const time = new Date(Date.UTC(2026, 0, 2) + number).toISOString();
      const body = call(1, undefined, `load-${number}`).replace('2026-01-01T00:00:00Z', time);
      return body.replace(callId(1), own).replace(trace, own.repeat(2));
    }).then(() => {
      isSending = false;
      return (performance.now() - startedAt) / 1000;
    });
    await page.evaluate(`window.frames = 0; window.keys = 0; onkeydown = () => { window.keys += 1; }`);
    const drawFrames = `new Promise((resolve) => {
      let left = 12;
      const count = () => { window.frames += 1; left -= 1; if (left > 0) requestAnimationFrame(count); else resolve(); };
      count();
    })`;
    const [newest, focused] = [new Set<string>(), new Set<unknown>()];
    let pressed = 0;
    while (isSending) {
      await page.keyboard.press('j');
      pressed += 1;
      await page.evaluate(drawFrames);
      focused.add(await page.evaluate('document.activeElement.id'));
      newest.add(await page.locator('td.main').first().innerText());
    }
    const seconds = await sending;
    const [frames, keys] = (await page.evaluate('[window.frames, window.keys]')) as number[];
    const rate = `${Math.round(count / seconds)} calls per second of ${perSecond}, ${late} of ${count} calls late`;
    process.stderr.write(
      `${name}: ${rate}; ${pressed} keys, ${frames} frames, ${newest.size} lists in ${seconds.toFixed(1)} s\n`,
    );
    expect(keys).toBe(pressed);
    // Both are counts: of a machine that is slower, there are as many calls, and more keys and frames.
    expect([frames, pressed > 5, focused.size > 3, newest.size > 1]).toEqual([12 * pressed, true, true, true]);
    await page.locator('nav', { hasText: `Traces ${(count + 1).toLocaleString('en')}` }).waitFor();
    await eventually(() => page.locator('td.main').first().innerText()).toMatch(/^load-(49\d\d|5000)$/);
    await page.getByRole('button', { name: 'Load more' }).click();
    await eventually(() => page.locator('tbody tr').count()).toBeGreaterThan(50);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const exported = readFileSync(await (await download).path(), 'utf8').matchAll(/"op_name":"(load-\d+)"/g);
    expect(new Set(Array.from(exported, ([, name]) => name)).size).toBe(count);
  });
});

describe.skipIf(!executablePath)('a browser', { timeout: 120_000 }, () => {
  it('logs in by the link of --open, without a password, until the service ends', async () => {
    const args = ['--open', '--data', join(temporaryDirectory(), 'svc.db')];
    const opened = await serve(args, { env: { BROWSER: '/no/such/browser' } });
    let text = '';
    opened.child.stderr?.on('data', (piece) => {
      text += piece;
    });
    await eventually(() => text).toContain('could not start');
    await post(opened, '/call/start', call(1, undefined, 'root'));
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const link = /http\S+#code=[\w-]+/.exec(text)?.[0] ?? '';
    await page.goto(link);
    await page.locator('.opener', { hasText: 'root' }).waitFor();
    expect(page.url()).toBe(`${opened.url}/#calls`);
    await page.reload();
    await page.locator('.opener', { hasText: 'root' }).waitFor();
    const other = await browser.newContext();
    onTestFinished(() => other.close());
    const second = await other.newPage();
    await second.goto(link);
    await second.getByText('The link was used, or is older than 60 s').waitFor();
    expect(await other.cookies()).toEqual([]);
  });

  it('responds from a recording that another tool imports', async () => {
    const har = join(temporaryDirectory(), 'models.har');
    const { url, env } = await serve(['--record', har]);
    const response = await fetch(`${url}/v1/models`, { headers: { Authorization: `Bearer ${env.SVC_TOKEN}` } });
    const body = await response.text();
    // An entry is written when the response has left.
    await eventually(() => readFileSync(har, 'utf8')).toContain('/v1/models');
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    await context.routeFromHAR(har, { notFound: 'abort' });
    const page = await context.newPage();
    const replayed = await page.goto('http://localhost/v1/models');
    expect([replayed?.status(), await replayed?.text()]).toEqual([200, body]);
    await expect(page.goto('http://localhost/healthz')).rejects.toThrow();
  });
});
