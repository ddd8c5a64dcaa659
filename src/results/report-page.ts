import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import type { Context } from '../context.ts';
import { usageFailure } from '../errors.ts';
import { writeFileAtomically } from '../files/file-replacement.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import { escapeControlCharacters } from '../output/escape-controls.ts';

/** The file of `--html`; undefined without the flag. Throws usage for stdout. */
export function readHtmlFlag(flags: FlagValues): string | undefined {
  const path = getStringFlag(flags, 'html');
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

/** A report as one HTML page without scripts and other files, for light and dark screens of any width. `body` is HTML. */
export function reportPage(title: string, body: readonly string[]): string {
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
<main>
<h1>${escapeHtml(title)}</h1>
${body.filter((part) => part !== '').join('\n')}
</main>
</body>
</html>
`;
}

export function escapeHtml(text: string): string {
  return escapeControlCharacters(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Figures with their labels. */
export function htmlFigures(figures: readonly (readonly [label: string, value: string])[]): string {
  const items = figures.map(
    ([label, value]) => `<div><dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd></div>`,
  );
  return `<dl>${items.join('')}</dl>`;
}

// Words that are not broken on a narrow screen.
const MAX_WHOLE_CHARS = 11;

/** A table of texts; nothing without rows. The cells of `htmlColumns` are HTML already. */
export function htmlTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  htmlColumns: readonly number[] = [],
): string {
  if (rows.length === 0) return '';
  const classOf = (text: string): string => (text.length <= MAX_WHOLE_CHARS ? ' class="whole"' : '');
  const heads = headings.map((heading) => `<th scope="col"${classOf(heading)}>${escapeHtml(heading)}</th>`);
  const cells = (row: readonly string[]): string =>
    row
      .map((cell, at) =>
        htmlColumns.includes(at) ? `<td>${cell}</td>` : `<td${classOf(cell)}>${escapeHtml(cell)}</td>`,
      )
      .join('');
  const lines = rows.map((row) => `<tr>${cells(row)}</tr>`);
  return `<table><thead><tr>${heads.join('')}</tr></thead><tbody>${lines.join('\n')}</tbody></table>`;
}

const STYLE = `
:root{color-scheme:light dark;--text:#1f2328;--muted:#59636e;--page:#fff;--panel:#f6f8fa;--line:#d1d9e0;--bar:#0969da;--bad:#c4320a}
@media (prefers-color-scheme:dark){:root{--text:#e6edf3;--muted:#9198a1;--page:#0d1117;--panel:#161b22;--line:#30363d;--bar:#4493f8;--bad:#ff7b54}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:76rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:1.75rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .25rem}
p{margin:.25rem 0}.muted,figcaption,dt,th,summary{color:var(--muted)}
a{color:var(--bar)}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(8rem,1fr));gap:.5rem;margin:.75rem 0 0}
dl div{background:var(--panel);border-radius:.5rem;padding:.5rem .75rem}
dt{font-size:.85rem}dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;vertical-align:top;border-bottom:1px solid var(--line);white-space:pre-wrap}
@media (max-width:30rem){table{font-size:.75rem}th,td{padding-right:.35rem}}
th{font-weight:600}.whole{white-space:nowrap}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1rem;margin-top:1rem}
figure{margin:0;padding:.75rem;background:var(--panel);border-radius:.5rem;min-width:0}
figcaption b{display:block;color:var(--text)}figcaption,summary{font-size:.85rem}
summary{cursor:pointer}
svg{display:block;width:100%;height:248px;padding:32px 8px 44px 56px;overflow:visible;font-size:11px}
svg.marks1{padding-top:46px}svg.marks3{padding-top:74px}
svg text{fill:var(--muted)}svg line{stroke:var(--line)}
.bar,.point circle{fill:var(--bar)}.bar{stroke:var(--panel)}.point line{stroke:var(--bar);stroke-width:2;opacity:.5}
.bar.bad,.point.bad circle{fill:var(--bad)}
svg line.mark{stroke:var(--text);stroke-dasharray:3 3}
svg text.mark{fill:var(--text);stroke:var(--panel);stroke-width:4px;paint-order:stroke}
meter{width:4rem}
`;
