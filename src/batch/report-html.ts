import { escapeControlCharacters } from '../output/escape-controls.ts';
import { formatCount } from '../output/transfer-text.ts';
import { type BatchStatistics, type Distribution, sortedCauses } from './batch-statistics.ts';
import { formatLineRanges } from './batch-summary.ts';
import { barLabel, distributions, latencyText } from './report-text.ts';

const BAR_COUNT = 30;
const CHART_WIDTH = 600;
const CHART_HEIGHT = 160;

/** The report as one HTML page without external files or scripts, for light and dark screens of any width. */
export function reportHtml(statistics: BatchStatistics, fileNames: readonly string[]): string {
  const { byStatus, retries, latency, promptTokens, completionTokens } = statistics;
  const { done, failed, unknown } = byStatus;
  const figures: readonly (readonly [label: string, value: number])[] = [
    ['Lines', done + failed + unknown],
    ['Done', done],
    ['Failed', failed],
    ['Unknown', unknown],
    ['Retries', retries],
    ['Prompt tokens', promptTokens.sum()],
    ['Completion tokens', completionTokens.sum()],
  ];
  const causes = sortedCauses(statistics.causes);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Batch report</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Batch report</h1>
<p class="files">${fileNames.map(escapeHtml).join(', ')}</p>
<dl>${figures.map(([label, value]) => `<div><dt>${label}</dt><dd>${formatCount(value)}</dd></div>`).join('')}</dl>
${causes.length === 0 ? '' : `<h2>Failures by cause</h2>\n<div class="scroll"><table><thead><tr><th>Lines</th><th>Cause</th><th>First lines</th></tr></thead><tbody>${causes.map(({ cause, count, lines }) => `<tr><td>${formatCount(count)}</td><td>${escapeHtml(cause)}</td><td>${formatLineRanges(lines)}</td></tr>`).join('')}</tbody></table></div>`}
${distributions(statistics)
  .filter(({ distribution }) => distribution.count() > 0)
  .map(
    ({ title, unit, distribution }) =>
      `<section><h2>${title}</h2>\n${distribution === latency ? `<p>${latencyText(latency)}</p>\n` : ''}${chart(title, unit, distribution)}</section>`,
  )
  .join('\n')}
</main>
</body>
</html>
`;
}

function chart(title: string, unit: string, distribution: Distribution): string {
  const bars = distribution.bars(BAR_COUNT);
  const highest = Math.max(...bars.map(({ count }) => count));
  const width = CHART_WIDTH / bars.length;
  const rectangles = bars.map((bar, at) => {
    const height = (bar.count / highest) * CHART_HEIGHT;
    const place = `x="${(at * width).toFixed(1)}" y="${(CHART_HEIGHT - height).toFixed(1)}"`;
    return `<rect ${place} width="${Math.max(1, width - 2).toFixed(1)}" height="${height.toFixed(1)}"><title>${barLabel(bar, unit)}: ${bar.count}</title></rect>`;
  });
  const end = `${(bars.at(-1)?.to ?? 1) - 1} ${unit}`.trim();
  return `<figure><svg viewBox="0 0 ${CHART_WIDTH} ${CHART_HEIGHT}" role="img" aria-label="Histogram: ${title}">${rectangles.join('')}</svg><figcaption><span>0</span><span>${end}</span></figcaption></figure>`;
}

function escapeHtml(text: string): string {
  return escapeControlCharacters(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `
:root{color-scheme:light dark;--text:#1f2328;--muted:#59636e;--page:#fff;--panel:#f6f8fa;--bar:#0969da}
@media (prefers-color-scheme:dark){:root{--text:#e6edf3;--muted:#9198a1;--page:#0d1117;--panel:#161b22;--bar:#4493f8}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main{max-width:46rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:1.5rem 0 .5rem}
.files,figcaption,dt,th{color:var(--muted)}.files{margin:.25rem 0 1rem;overflow-wrap:anywhere}
dl{display:flex;flex-wrap:wrap;gap:.5rem;margin:0}
dl div{flex:1 0 8rem;background:var(--panel);border-radius:.5rem;padding:.5rem .75rem}
dt{font-size:.85rem}dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;vertical-align:top;overflow-wrap:anywhere}
th{white-space:nowrap}
figure{margin:0}svg{display:block;width:100%;height:auto;background:var(--panel);border-radius:.5rem}
rect{fill:var(--bar)}figcaption{display:flex;justify-content:space-between;font-size:.85rem}
`;
