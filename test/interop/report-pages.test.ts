import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { run } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!executablePath) process.stderr.write('skipped: the reports in a browser: chromium is missing\n');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const ATTACK = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>';

// What is wrong with a page: everything drawn has to be inside of its chart.
const PROBLEMS = `(async () => {
  const outside = [...document.querySelectorAll('svg *')].flatMap((element) =>
    ['x', 'y', 'x1', 'x2', 'cx', 'cy', 'width', 'height'].flatMap((name) => {
      const value = element.getAttribute(name);
      const share = value === null ? 0 : parseFloat(value);
      return value?.endsWith('%') && !(share >= 0 && share <= 100.01) ? [element.outerHTML.slice(0, 200)] : [];
    }),
  );
  const [texts, cut] = [[...document.querySelectorAll('svg text')].map((text) => text.getBoundingClientRect()), []];
  for (const { left, right } of texts) if (left < 0 || right > innerWidth) cut.push('a text is cut');
  ${axe};
  const { violations } = await axe.run();
  const scroll = document.documentElement.scrollWidth > innerWidth ? ['scrolls at ' + innerWidth] : [];
  const attacked = window.attacked || document.querySelector('img, script') ? ['attacked'] : [];
  return [...outside, ...cut, ...scroll, ...attacked, ...violations.map(({ id, nodes }) => id + nodes[0].html)];
})()`;

/** The cells of the table of values of a chart. */
async function valuesOf(page: Page, title: string): Promise<string[][]> {
  const figure = page.locator('figure', { has: page.locator(`figcaption b:text-is("${title}")`) });
  const rows = await figure.locator('tbody tr').all();
  return Promise.all(rows.map((row) => row.locator('td').allTextContents()));
}

const asNumber = (text = ''): number => Number(text.replaceAll(',', ''));
const asMilliseconds = (text: string): number =>
  text.endsWith(' ms') ? asNumber(text.slice(0, -3)) : Math.round(asNumber(text.slice(0, -2)) * 1000);

describe.skipIf(!executablePath)('the page of', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });
  });
  afterAll(() => browser?.close());

  /** Opens a report, and expects no problem in any width and color scheme. */
  async function openReport(path: string): Promise<Page> {
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const html = readFileSync(path, 'utf8');
    expect(html).not.toMatch(/[^\n\P{Cc}]|\bNaN%|Infinity%|undefined/u);
    expect(html).toMatch(/Content-Security-Policy" content="default-src 'none'; style-src 'sha256-[^' ]+'"/);
    const problems: string[] = [];
    const backgrounds = new Set<unknown>();
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.on('console', (message) => problems.push(message.text()));
    page.on('request', (request) => request.url().startsWith('file:') || problems.push(request.url()));
    await page.goto(`file://${path}`);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      backgrounds.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
      for (const width of [320, 360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        problems.push(...((await page.evaluate(PROBLEMS)) as string[]));
      }
    }
    expect([problems, backgrounds.size]).toEqual([[], 2]);
    return page;
  }

  describe('svc train lint', () => {
    const random = (seed: number): (() => number) => {
      let state = seed;
      return () => {
        state = (state * 16_807) % 2_147_483_647;
        return state / 2_147_483_647;
      };
    };
    const choice = (tokens: number, token: (at: number) => string) => ({
      message: { role: 'assistant' },
      logprobs: { content: Array.from({ length: tokens }, (_, at) => ({ token: token(at), logprob: -1 })) },
    });

    /** Groups with seeded rewards; every fourth has equal ones. */
    const groups = (count: number) => {
      const next = random(count);
      return Array.from({ length: count }, (_, group) => ({
        trajectories: Array.from({ length: 2 + (group % 4) }, (__, at) => ({
          ...(at === 1 && group % 10 === 3 ? {} : { reward: group % 4 === 0 ? 0.5 : Math.round(next() * 1000) / 1000 }),
          ...{ initial_policy_version: 1 + Math.floor(group / 10), final_policy_version: 2 + Math.floor(group / 10) },
          messages_and_choices: [
            ...Array.from({ length: at + 1 }, () => ({ role: 'user', content: 'x' })),
            choice(group + at, (index) => (group === 7 && index === 2 ? ATTACK : `token_id:${index}`)),
          ],
        })),
      }));
    };

    async function lint(text: string, name = 'data.jsonl', more: readonly string[] = []) {
      const cwd = temporaryDirectory();
      writeFileSync(join(cwd, name), text);
      const result = await run(['train', 'lint', name, '--html', 'r.html', ...more], { cwd });
      return { ...result, html: join(cwd, 'r.html'), cwd };
    }

    it('shows what the data holds', { timeout: 120_000 }, async () => {
      const data = groups(60);
      const name = `a b#?${'<b>'}'".jsonl`;
      const { html, code, stdout, cwd } = await lint(data.map((group) => `${JSON.stringify(group)}\n`).join(''), name, [
        '--plot',
      ]);
      expect(code).toBe(0);
      const page = await openReport(html);
      const trajectories = data.flatMap((group) => group.trajectories);
      const rewards = trajectories.flatMap(({ reward }) => reward ?? []);
      const histogram = await valuesOf(page, 'Rewards');
      for (const [range = '', count] of histogram) {
        const [from = 0, to = 0] = range.split(' to ').map(asNumber);
        expect(asNumber(count), range).toBe(rewards.filter((reward) => reward >= from && reward < to).length);
      }
      expect(histogram.reduce((sum, [, count]) => sum + asNumber(count), 0)).toBe(rewards.length);

      const compared = data
        .map((group) => group.trajectories.flatMap(({ reward }) => reward ?? []))
        .filter(({ length }) => length > 1);
      const equal = compared.filter((some) => new Set(some).size === 1).length;
      const differences = await valuesOf(page, 'Differences within groups');
      expect(differences.reduce((sum, [, count]) => sum + asNumber(count), 0)).toBe(compared.length);
      expect(differences.reduce((sum, [, , none]) => sum + asNumber(none), 0)).toBe(equal);
      await page
        .getByText(`Of ${compared.length} groups with several rewards, ${equal} have no difference.`)
        .first()
        .waitFor();
      const untrainable = compared.filter((some) => new Set(some).size === 1).length + 60 - compared.length;
      expect(await page.locator('.point.bad').count()).toBe(untrainable);

      for (const [version, count, low, mean, high] of await valuesOf(page, 'Rewards by policy version')) {
        const own = trajectories.flatMap(({ reward, final_policy_version }) =>
          final_policy_version === asNumber(version) ? (reward ?? []) : [],
        );
        expect([count, low, high].map(asNumber), version).toEqual([own.length, Math.min(...own), Math.max(...own)]);
        expect(asNumber(mean)).toBeCloseTo(own.reduce((sum, reward) => sum + reward, 0) / own.length, 5);
      }
      const byPosition = await valuesOf(page, 'Rewards by position');
      expect(byPosition.reduce((sum, [, count]) => sum + asNumber(count), 0)).toBe(rewards.length);
      for (const [title, lengthOf] of [
        [
          'Tokens',
          ({ messages_and_choices: items }) => (items.at(-1) as ReturnType<typeof choice>).logprobs.content.length,
        ],
        ['Messages', ({ messages_and_choices: items }) => items.length],
      ] satisfies [string, (one: (typeof trajectories)[number]) => number][])
        for (const [range = '', count] of await valuesOf(page, title)) {
          const [first = 0, last = first] = range.split(' to ').map(asNumber);
          const own = trajectories.filter((one) => lengthOf(one) >= first && lengthOf(one) <= last);
          expect(asNumber(count), `${title} ${range}`).toBe(own.length);
        }

      // The plot has the same numbers.
      const plot = stdout.split('\n\n');
      const counts = (title: string) =>
        plot
          .find((part) => part.startsWith(title))
          ?.split('\n')
          .flatMap((line) => /^ +\S+ +([\d,]+)( [░█]+)$/.exec(line)?.[1] ?? []);
      expect(counts('Trajectories by reward')).toEqual(histogram.map(([, count]) => count));
      expect(counts('Groups by the standard deviation')).toEqual(differences.map(([, count]) => count));

      const link = page.locator('tr', { hasText: 'is not token_id' }).locator('a').first();
      expect(await link.textContent()).toContain(`${name}:8:`);
      const url = new URL(await link.evaluate((anchor: { href: string }) => anchor.href));
      expect([fileURLToPath(url.href.replace(url.hash, '')), url.hash]).toEqual([join(cwd, name), '#L8']);
    });

    it.each<[string, string, number]>([
      ['no data', '\n', 0],
      ['one trajectory', '{"trajectories":[{"reward":0.1}]}\n', 0],
      ['equal rewards', '{"trajectories":[{"reward":0.1},{"reward":0.1}]}\n'.repeat(3), 0],
      ['no rewards', '{"trajectories":[{},{}]}\n', 0],
      ['empty groups', '{"trajectories":[]}\n', 0],
      ['NaN', '{"trajectories":[{"reward":NaN},{"reward":1}]}\n', 3],
      ['extremes', '{"trajectories":[{"reward":-1.7e308},{"reward":1.7e308},{"reward":1e400},{"reward":5e-324}]}\n', 0],
      ['close rewards', '{"trajectories":[{"reward":1000000000.1},{"reward":1000000000.3}]}\n', 0],
      ['invalid JSON', '{"trajectories":[{"reward":1},{"reward":2}]}\n{"trajectories":[{"reward":}]}\n', 3],
    ])('svc train lint draws %s', { timeout: 120_000 }, async (_, text, code) => {
      const result = await lint(text);
      expect(result.code, result.stderr).toBe(code);
      await openReport(result.html);
    });

    it('stays small for 100,000 lines', { timeout: 240_000 }, async () => {
      const group = (at: number) =>
        `{"trajectories":[{"reward":${at % 7},"final_policy_version":${at}},{"reward":3}]}\n`;
      const result = await lint(Array.from({ length: 100_000 }, (_, at) => group(at)).join(''));
      expect(result.code, result.stderr).toBe(0);
      expect(statSync(result.html).size).toBeLessThan(400_000);
      const page = await openReport(result.html);
      const equal = Array.from({ length: 100_000 }, (_, at) => at).filter((at) => at % 7 === 3).length;
      await page
        .getByText(`Of 100,000 groups with several rewards, ${equal.toLocaleString('en-US')} have`)
        .first()
        .waitFor();
    });
  });

  describe('svc batch report', () => {
    interface Line {
      readonly state: 'done' | 'failed' | 'unknown' | 'unexpected';
      readonly ms: number;
      readonly second?: number;
      readonly tokens?: number;
      readonly text?: string;
    }

    /** An output as svc writes it. */
    const output = (lines: readonly Line[]): string =>
      lines
        .map(({ state, ms, second = 0, tokens = 0, text = ATTACK }, at) => {
          const input = String(at).padStart(16, '0');
          const content = { model: 'm', choices: [{ index: 0, message: { content: text }, finish_reason: 'stop' }] };
          const response = { ...content, usage: { prompt_tokens: 7, completion_tokens: tokens } };
          const expectation = { expect: 'text', value: `^${'<i>'}`, passed: state === 'done' };
          const [exit_code, applied] = {
            done: [0, 'yes'],
            failed: [4, 'no'],
            unknown: [10, 'unknown'],
            unexpected: [13, 'yes'],
          }[state];
          return `${JSON.stringify({
            ...{ line: at + 1, id: null, status: 200, exit_code, applied },
            ...(state === 'done' || state === 'unexpected' ? { response, expectations: [expectation] } : {}),
            ...(state === 'done' ? {} : { error: { code: 'rejected', message: `${state} ${text}` } }),
            ...{ attempts: 1, ms, ended_at: new Date(Date.UTC(2026, 0, 31) + second * 1000).toISOString() },
            checkpoint: { input, run: '01a1fd65-c7c7-7d58-a39c-000000000000', operation: '/v1/chat', shard: '1/1' },
          })}\n`;
        })
        .join('');

    const states = ['done', 'done', 'done', 'failed', 'done', 'unexpected', 'unknown'] as const;
    const lines = (count: number, slower: number): Line[] =>
      Array.from({ length: count }, (_, at) => ({
        state: states[at % 7] ?? 'done',
        ms: Math.round(1.003 ** at * slower + (at % 5)),
        second: Math.floor(at / 9),
        tokens: (at * 37) % 500,
      }));

    async function report(texts: Readonly<Record<string, string>>, more: readonly string[] = []) {
      const cwd = temporaryDirectory();
      for (const [name, text] of Object.entries(texts)) writeFileSync(join(cwd, name), text);
      const result = await run(['batch', 'report', ...Object.keys(texts), '--html', 'r.html', ...more], { cwd });
      expect(result.code, result.stderr).toBe(0);
      return {
        page: await openReport(join(cwd, 'r.html')),
        json: JSON.parse(result.stdout),
        html: join(cwd, 'r.html'),
      };
    }

    const percentile = (values: readonly number[], percent: number): number =>
      [...values].sort((left, right) => left - right)[Math.max(1, Math.ceil((values.length * percent) / 100)) - 1] ?? 0;
    const duration = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`);

    it('shows what the output holds', { timeout: 120_000 }, async () => {
      const all = lines(1400, 20);
      const { page, json } = await report({ 'a.jsonl': output(all) });
      const milliseconds = all.map(({ ms }) => ms);
      const latency = await valuesOf(page, 'Latency');
      expect(latency.length).toBeGreaterThan(10);
      for (const [range = '', count] of latency) {
        const [first = 0, last = first] = range.split(' to ').map(asMilliseconds);
        const own = milliseconds.filter((ms) => ms >= first && ms <= last);
        expect(asNumber(count), range).toBe(own.length);
      }
      const percentiles = [50, 90, 99].map((percent) => `p${percent} ${duration(percentile(milliseconds, percent))}`);
      expect(await page.locator('figure').first().locator('text.mark').allTextContents()).toEqual(percentiles);
      const ticks = await page.locator('figure').first().locator('text').allTextContents();
      expect(ticks).toEqual(expect.arrayContaining(['100 ms', '1 s']));

      // From the bar of the first request on; bars begin at multiples of their length.
      const first = Math.min(...all.map(({ second = 0, ms }) => Math.floor(second - ms / 1000)));
      const perBin = (await valuesOf(page, 'Throughput')).map(([range = '', rate, bad]) => {
        const [from = 0, to = 0] = range.replace(' s', '').split(' to ').map(asNumber);
        const start = Math.floor(first / (to - from)) * (to - from);
        const own = all.filter(({ second = 0 }) => second - start >= from && second - start < to);
        const failed = own.filter(({ state }) => state !== 'done');
        expect(asNumber(rate) * (to - from)).toBeCloseTo(own.length, 2);
        expect(asNumber(bad) * (to - from)).toBeCloseTo(failed.length, 2);
        return own.length;
      });
      expect(perBin.reduce((sum, count) => sum + count, 0)).toBe(1400);

      const passed = all.filter(({ state }) => state === 'done').length;
      const checked = passed + all.filter(({ state }) => state === 'unexpected').length;
      const format = (count: number): string => count.toLocaleString('en-US');
      const row = page.locator('tr', { hasText: '--expect-text ^<i>' }).first();
      expect(await row.locator('td').allTextContents()).toEqual([
        '--expect-text ^<i>',
        `${format(passed)} of ${format(checked)}`,
        expect.stringContaining(`${Math.floor((passed / checked) * 1000) / 10} %`),
      ]);
      expect(json.expectations).toEqual([{ expectation: '--expect-text ^<i>', passed, failed: checked - passed }]);
      for (const title of ['Samples of failures', 'Samples of responses'])
        expect(await page.locator('section', { hasText: title }).locator('tbody tr').count()).toBeGreaterThan(4);
    });

    it('shows two outputs side by side, and what got worse', { timeout: 120_000 }, async () => {
      const before = lines(60, 50);
      const after = before.slice(0, 55).map((line, at) => ({
        ...line,
        ms: Math.round(line.ms * 1.25),
        state: at === 4 ? ('failed' as const) : at === 3 ? ('done' as const) : line.state,
        text: at === 8 ? 'other' : ATTACK,
      }));
      const { page, json } = await report({ 'a.jsonl': output(before), 'b.jsonl': output(after) }, ['--compare']);
      expect(json).toMatchObject({
        lines: { compared: 55, only_first: 5, only_second: 0 },
        worse: { count: 1, examples: [{ line: 5, before: ATTACK, after: `failed ${ATTACK}` }] },
        better: { count: 1, examples: [{ line: 4, before: `failed ${ATTACK}`, after: ATTACK }] },
        different: { count: 1, examples: [{ line: 9, before: ATTACK, after: 'other' }] },
        reports: [
          { file: 'a.jsonl', lines: 60 },
          { file: 'b.jsonl', lines: 55 },
        ],
      });
      const change = page.locator('section', { hasText: 'Lines that got worse' }).locator('tbody td');
      expect(await change.allTextContents()).toEqual(['5', ATTACK, `failed ${ATTACK}`]);
      const p50 = [before, after].map((some) =>
        percentile(
          some.map(({ ms }) => ms),
          50,
        ),
      );
      expect(await page.locator('tr', { hasText: 'Latency p50' }).locator('td').allTextContents()).toEqual([
        'Latency p50 without retries',
        ...p50.map(duration),
        `+${duration((p50[1] ?? 0) - (p50[0] ?? 0))}, worse`,
      ]);
      const tops = await page.locator('figure').evaluateAll((figures) => figures.map(({ offsetTop }) => offsetTop));
      // Of each kind, both outputs are beside each other.
      expect(tops.filter((_, at) => at % 2 === 0)).toEqual(tops.filter((_, at) => at % 2 === 1));
      const titles = await page.locator('figcaption b').allInnerTexts();
      for (const [at, title] of titles.entries())
        if (at % 2 === 0) expect(titles[at + 1]).toBe(title.replace('a.jsonl', 'b.jsonl'));
      for (const [title, bars] of [
        ['Latency: a.jsonl', 60],
        ['Latency: b.jsonl', 55],
      ] as const)
        expect((await valuesOf(page, title)).reduce((sum, [, count]) => sum + asNumber(count), 0)).toBe(bars);
    });

    const one: Line = { state: 'done', ms: 0 };
    it.each<[string, readonly Line[]]>([
      ['no data', []],
      ['one line', [one]],
      ['equal values', Array.from({ length: 30 }, () => ({ ...one, ms: 1000, tokens: 12 }))],
      ['failures only', Array.from({ length: 30 }, (_, at) => ({ state: 'failed' as const, ms: at }))],
      [
        'long and short ones',
        [one, { ...one, ms: 86_400_000, second: 86_400, tokens: 2 ** 50, text: 'x'.repeat(5000) }],
      ],
    ])('draws %s, alone and compared', { timeout: 240_000 }, async (_, some) => {
      await report({ 'a.jsonl': output(some) });
      await report({ 'a.jsonl': output(some), [`b ${'x'.repeat(100)}.jsonl`]: output([one]) }, ['--compare']);
    });

    it('stays small for 100,000 lines', { timeout: 240_000 }, async () => {
      const all = output(lines(1000, 20)).repeat(100).split('\n').slice(0, -1);
      const text = all.map((line, at) => `${line.replace(/"line":\d+/, `"line":${at + 1}`)}\n`).join('');
      const { json, html } = await report({ 'a.jsonl': text, 'b.jsonl': text }, ['--compare']);
      expect(json.lines).toEqual({ compared: 100_000, only_first: 0, only_second: 0 });
      expect(statSync(html).size).toBeLessThan(400_000);
    });
  });
});
