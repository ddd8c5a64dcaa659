import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderMarkdown } from '../support/markdown.ts';

const root = new URL('../../', import.meta.url).pathname;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!executablePath) process.stderr.write('skipped: the documents in a browser: chromium is missing\n');
const documents = ['.', 'docs', 'docs/internals', 'docs/reference'].flatMap((directory) =>
  readdirSync(join(root, directory))
    .filter((name) => name.endsWith('.md') && (directory !== '.' || name === 'README.md'))
    .map((name) => join(directory, name)),
);
const htmlByPath = new Map(documents.map((path) => [path, renderMarkdown(readFileSync(join(root, path), 'utf8'))]));

describe.skipIf(!executablePath)('in a browser', { timeout: 120_000 }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });
  }, 120_000);
  afterAll(() => browser.close());

  it.each(documents)('%s is accessible, and each link leads to a heading or a file', async (path) => {
    const page = await browser.newPage();
    const style = 'body{font:16px sans-serif;max-width:60rem;margin:auto}pre{overflow:auto}';
    const html = htmlByPath.get(path) ?? '';
    await page.setContent(
      `<!doctype html><html lang="en"><title>${path}</title><style>${style}</style><main>${html}</main></html>`,
    );
    const findings = await page.evaluate(
      `${axe}; axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`,
    );
    expect(findings).toEqual([]);
    const links = await page.locator('a').evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
    const images = await page
      .locator('img, source')
      .evaluateAll((all) => all.map((image) => image.getAttribute('src') ?? image.getAttribute('srcset') ?? ''));
    expect([...links, ...images].filter((link) => !leadsSomewhere(path, link))).toEqual([]);
    // Markdown that is not rendered, and what a browser takes for a tag.
    const text = await page.evaluate(
      "for (const code of document.querySelectorAll('pre, code')) code.remove(); document.body.innerText",
    );
    expect(String(text).match(/\]\(|\*\*|^\||^#+ |^- |```/gm)).toEqual(null);
    const prose = readFileSync(join(root, path), 'utf8').replace(/^ *```[\s\S]*?^ *```$|`[^`]+`/gm, '');
    expect(prose.match(/^(?! {4}).*(?<!\\)<(?!https?:|\/?(?:picture|source|img)\b)[a-z/].*$/gim)).toEqual(null);
    await page.close();
  });
});

function leadsSomewhere(from: string, link: string): boolean {
  if (/^https?:/.test(link)) return URL.canParse(link);
  const [file = '', anchor] = link.split('#');
  const path = file === '' ? from : join(dirname(from), file);
  if (!existsSync(join(root, path))) return false;
  return anchor === undefined || (htmlByPath.get(path) ?? '').includes(` id="${anchor}"`);
}
