/** The colors of a picture. */
export interface PictureTheme {
  readonly background: string;
  readonly text: string;
  readonly dim: string;
  /** By the number of the color in the escape sequence: 31 is red. */
  readonly colors: { readonly [code: string]: string };
}

export const lightTheme: PictureTheme = {
  background: '#ffffff',
  text: '#1f2328',
  dim: '#656d76',
  colors: { 31: '#cf222e', 32: '#1a7f37', 33: '#7d4e00', 34: '#0550ae', 35: '#8250df', 36: '#1b7c83' },
};

export const darkTheme: PictureTheme = {
  background: '#0d1117',
  text: '#e6edf3',
  dim: '#8b949e',
  colors: { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 34: '#79c0ff', 35: '#d2a8ff', 36: '#76e3ea' },
};

const CHAR_WIDTH_PX = 8.4;
const LINE_HEIGHT_PX = 20;
const PADDING_PX = 16;

/** The lines of a terminal from a moment on, in milliseconds since the first. */
export interface TerminalFrame {
  readonly atMs: number;
  readonly lines: readonly string[];
}

/**
 * A recorded terminal session as an SVG that moves, in a loop of `durationMs`. Where motion is not wanted, it shows the last
 * frame.
 */
export function renderRecording(
  frames: readonly TerminalFrame[],
  durationMs: number,
  columns: number,
  theme: PictureTheme,
): string {
  const percent = (ms: number): string => `${((ms / durationMs) * 100).toFixed(2)}%`;
  const rows = Math.max(...frames.map(({ lines }) => lines.length));
  const texts: string[] = [];
  const rules: string[] = [];
  for (let row = 0; row < rows; row += 1) {
    // A row is drawn once for each text that it shows, and is visible from the first frame with that text to the next one.
    let from = 0;
    frames.forEach(({ lines, atMs }, index) => {
      const line = lines[row] ?? '';
      const next = frames[index + 1];
      if (next && (next.lines[row] ?? '') === line) return;
      const until = next ? `${percent(next.atMs)}{visibility:hidden}` : '';
      const name = `r${rules.length}`;
      const start = frames[from] ?? { atMs };
      from = index + 1;
      if (line === '') return;
      rules.push(`@keyframes ${name}{0%{visibility:hidden}${percent(start.atMs)}{visibility:visible}${until}}`);
      const style = `style="animation-name:${name}"${next ? ' visibility="hidden"' : ''}`;
      texts.push(renderRow(line, row, theme, ` ${style}`));
    });
  }
  const timing = `text{animation:${durationMs}ms step-end infinite}`;
  const still = '@media (prefers-reduced-motion:reduce){text{animation:none}}';
  const width = Math.ceil(columns * CHAR_WIDTH_PX + 2 * PADDING_PX);
  const height = rows * LINE_HEIGHT_PX + 2 * PADDING_PX;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<style>${timing}${rules.join('')}${still}</style>`,
    `<rect width="100%" height="100%" rx="8" fill="${theme.background}" stroke="${theme.dim}" stroke-opacity="0.4"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" fill="${theme.text}">`,
    ...texts,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function renderRow(line: string, row: number, theme: PictureTheme, attributes: string): string {
  const y = PADDING_PX + (row + 1) * LINE_HEIGHT_PX - 5;
  return `<text x="${PADDING_PX}" y="${y}" xml:space="preserve"${attributes}>${renderLine(line, theme)}</text>`;
}

function renderLine(line: string, theme: PictureTheme): string {
  let style = '';
  return line
    .split(/(\u001b\[[\d;]*m)/)
    .map((part) => {
      const [, codes] = /^\u001b\[([\d;]*)m$/.exec(part) ?? [];
      if (codes === undefined)
        return part === '' ? '' : style ? `<tspan${style}>${escapeXml(part)}</tspan>` : escapeXml(part);
      style = styleOf(codes, theme);
      return '';
    })
    .join('');
}

function styleOf(codes: string, theme: PictureTheme): string {
  if (/^(0?|22|39)$/.test(codes)) return '';
  return codes
    .split(';')
    .map((code) => {
      if (code === '1') return ' font-weight="bold"';
      if (code === '2') return ` fill="${theme.dim}"`;
      const color = theme.colors[code];
      return color ? ` fill="${color}"` : '';
    })
    .join('');
}

/** A bar chart of ratios as SVG, on a logarithmic scale: to the left of 1 is faster, to the right is slower. */
export function renderChart(
  title: string,
  bars: readonly { label: string; ratio: number }[],
  theme: PictureTheme,
): string {
  const labelWidth = 600;
  const doublingPx = 34;
  const width = labelWidth + 360;
  const height = (bars.length + 2) * 28 + 2 * PADDING_PX;
  const equal = PADDING_PX + labelWidth + 5 * doublingPx;
  const rows = bars.map(({ label, ratio }, index) => {
    const y = PADDING_PX + 28 * (index + 1.5);
    const length = Math.max(1, Math.abs(Math.log2(ratio)) * doublingPx);
    const isFaster = ratio <= 1;
    const x = isFaster ? equal - length : equal;
    const [valueX, anchor] = isFaster ? [equal - length - 6, 'end'] : [equal + length + 6, 'start'];
    return [
      `<text x="${PADDING_PX}" y="${y + 14}">${escapeXml(label)}</text>`,
      `<rect x="${x.toFixed(1)}" y="${y}" width="${length.toFixed(1)}" height="18" rx="2" fill="${theme.colors[isFaster ? 32 : 34]}"/>`,
      `<text x="${valueX.toFixed(1)}" y="${y + 14}" text-anchor="${anchor}">${ratio.toFixed(2)}</text>`,
    ].join('');
  });
  const axis = `<line x1="${equal}" x2="${equal}" y1="${PADDING_PX + 28}" y2="${height - PADDING_PX}" stroke="${theme.dim}" stroke-dasharray="3 3"/>`;
  return renderFrame(title, width, height, theme, [axis, ...rows]);
}

const PANEL_WIDTH_PX = 440;
const PANEL_HEIGHT_PX = 130;

/** Courses of values over time, two panels per row, each with a dashed line at its best value. */
export function renderCourses(
  title: string,
  panels: readonly { readonly label: string; readonly best: number; readonly values: readonly number[] }[],
  xLabel: string,
  theme: PictureTheme,
): string {
  const rowHeight = PANEL_HEIGHT_PX + 60;
  const drawn = panels.map(({ label, best, values }, index) => {
    const left = PADDING_PX + 40 + (index % 2) * (PANEL_WIDTH_PX + 60);
    const bottom = PADDING_PX + 60 + Math.floor(index / 2) * rowHeight + PANEL_HEIGHT_PX;
    const highest = Math.max(best, ...values);
    const heightOf = (value: number): string => (bottom - (value / highest) * PANEL_HEIGHT_PX).toFixed(1);
    const steps = values.map((value, at) => {
      const x = (position: number): string => (left + (position / values.length) * PANEL_WIDTH_PX).toFixed(1);
      return `${at === 0 ? 'M' : 'L'}${x(at)} ${heightOf(value)}H${x(at + 1)}`;
    });
    const right = left + PANEL_WIDTH_PX;
    return [
      `<text x="${left}" y="${bottom - PANEL_HEIGHT_PX - 12}">${escapeXml(label)}</text>`,
      `<line x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}" stroke="${theme.dim}"/>`,
      `<line x1="${left}" x2="${right}" y1="${heightOf(best)}" y2="${heightOf(best)}" stroke="${theme.dim}" stroke-dasharray="3 3"/>`,
      `<text x="${left - 6}" y="${Number(heightOf(best)) + 4}" text-anchor="end">${best}</text>`,
      `<path d="${steps.join('')}" fill="none" stroke="${theme.colors[34]}" stroke-width="2"/>`,
      `<text x="${right}" y="${bottom + 16}" text-anchor="end">${escapeXml(xLabel)}</text>`,
    ].join('');
  });
  const height = PADDING_PX * 2 + 40 + Math.ceil(panels.length / 2) * rowHeight;
  return renderFrame(title, 2 * PANEL_WIDTH_PX + 160, height, theme, drawn);
}

function renderFrame(
  title: string,
  width: number,
  height: number,
  theme: PictureTheme,
  content: readonly string[],
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<rect width="100%" height="100%" rx="8" fill="${theme.background}" stroke="${theme.dim}" stroke-opacity="0.4"/>`,
    `<g font-family="system-ui, sans-serif" font-size="13" fill="${theme.text}">`,
    `<text x="${PADDING_PX}" y="${PADDING_PX + 14}" font-weight="bold">${escapeXml(title)}</text>`,
    ...content,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function escapeXml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
}
