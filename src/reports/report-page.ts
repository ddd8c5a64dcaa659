import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import type { Context } from '../context.ts';
import { usageFailure } from '../errors.ts';
import { writeFileAtomically } from '../files/file-replacement.ts';
import { escapeControlCharacters } from '../output/escape-controls.ts';

/** The file of `--html`; undefined without the flag. Throws usage for stdout. */
export function checkHtmlPath(path: string | undefined): string | undefined {
  if (path === '-') throw usageFailure('--html writes a file, not stdout', 'name a file, such as report.html');
  return path;
}

/** Writes the page of `--html`, if there is the flag. Throws Failure `local_file`. */
export async function writeReportPage(
  path: string | undefined,
  page: () => string,
  { runtime, report }: Context,
): Promise<void> {
  if (path === undefined) return;
  await writeFileAtomically(resolve(runtime.cwd, path), path, page(), 0o600);
  await report.note(`wrote ${path}`);
}

/** A text, or an element with its attributes and content. Texts are written as such, whatever they hold. */
export type Markup =
  | string
  | readonly [
      name: string,
      attributes: { readonly [name: string]: string | number },
      content?: string | readonly Markup[],
    ];

/** An element without attributes. */
export function element(name: string, ...content: readonly Markup[]): Markup {
  return [name, {}, content];
}

/** A report as one HTML page without scripts and other files, for light and dark screens of any width. */
export function reportPage(title: string, body: readonly Markup[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${writeMarkup(['main', { class: 'report' }, [element('h1', title), ...body]])}
</body>
</html>
`;
}

function writeMarkup(node: Markup): string {
  if (typeof node === 'string') return escapeHtml(node);
  const [name, attributes, content = []] = node;
  const pairs = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeHtml(String(value))}"`);
  return `<${name}${pairs.join('')}>${[content].flat().map(writeMarkup).join('')}</${name}>`;
}

function escapeHtml(text: string): string {
  return escapeControlCharacters(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

export function figureList(figures: readonly (readonly [label: string, value: string])[]): Markup {
  return element('dl', ...figures.map(([label, value]) => element('div', element('dt', label), element('dd', value))));
}

// Words that are not broken on a narrow screen.
const MAX_WHOLE_CHARS = 11;

/** A table, or nothing without rows. */
export function tableOf(headings: readonly string[], rows: readonly (readonly Markup[])[]): Markup[] {
  const cell = (name: string, content: Markup): Markup => {
    const isWhole = typeof content === 'string' && content.length <= MAX_WHOLE_CHARS;
    return [name, isWhole ? { class: 'whole' } : {}, [content]];
  };
  if (rows.length === 0) return [];
  const head = element('tr', ...headings.map((heading) => cell('th', heading)));
  const lines = rows.map((row) => element('tr', ...row.map((content) => cell('td', content))));
  return [element('table', element('thead', head), ['tbody', {}, lines])];
}

/** A part of a report, or nothing without content. */
export function reportSection(title: string, content: readonly Markup[]): Markup[] {
  return content.length === 0 ? [] : [element('section', element('h2', title), ...content)];
}

/** The style of what is in an element of class `report`, and the colors. */
export const REPORT_STYLE = `
:root{color-scheme:light dark;--text:light-dark(#1f2328,#e6edf3);--soft:light-dark(#57606a,#9da7b3);--page:light-dark(#fff,#0d1117);--panel:light-dark(#f6f8fa,#161b22);--line:light-dark(#d1d9e0,#30363d);--edge:light-dark(#818b98,#656c76);--bar:light-dark(#0969da,#58a6ff);--bad:light-dark(#b34700,#ffb057)}
.report{
.muted,figcaption,dt,th,summary{color:var(--soft)}
a{color:var(--bar)}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(8rem,1fr));gap:.5rem;margin:.75rem 0 0}
dl div{background:var(--panel);border-radius:.5rem;padding:.5rem .75rem}
dt{font-size:.85rem}dd{margin:0;font-size:1.1rem;font-variant-numeric:tabular-nums}
table{border-collapse:collapse;width:100%;font-size:.9em;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;vertical-align:top;border-bottom:1px solid var(--line);white-space:pre-wrap}
th{font-weight:600}.whole{white-space:nowrap}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1rem;margin-top:1rem}
.pairs{grid-template-columns:repeat(auto-fit,minmax(min(100%,max(18rem,34%)),1fr))}
figure{margin:0;padding:.75rem;background:var(--panel);border-radius:.5rem;min-width:0}
figcaption b{display:block;color:var(--text)}figcaption,summary{font-size:.85rem}
summary{cursor:pointer}
svg{display:block;width:100%;height:248px;padding:32px 8px 44px 56px;overflow:visible;font-size:11px}
svg.marks1{padding-top:46px}svg.marks3{padding-top:74px}
svg text{fill:var(--soft)}svg line{stroke:var(--line)}
.bar,.point circle{fill:var(--bar)}.bar{stroke:var(--panel)}.point line{stroke:var(--bar);stroke-width:2;opacity:.5}
.bar.bad,.point.bad circle{fill:var(--bad)}
svg line.mark{stroke:var(--text);stroke-dasharray:3 3}
svg text.mark{fill:var(--text);stroke:var(--panel);stroke-width:4px;paint-order:stroke}
meter{width:4rem}
@media (max-width:30rem){table{font-size:.75rem}th,td{padding-right:.35rem}svg{font-size:10px}}
}`;

const STYLE = `${REPORT_STYLE}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:76rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:1.75rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .25rem}
p{margin:.25rem 0}
`;
