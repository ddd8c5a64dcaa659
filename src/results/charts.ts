import { formatNumber } from '../output/transfer-text.ts';
import { escapeHtml, htmlTable } from './report-page.ts';

/** A scale of a chart: `place` is 0 at its left or lower end, and 1 at the other. */
export interface Axis {
  readonly label: string;
  readonly place: (value: number) => number;
  readonly ticks: readonly { readonly value: number; readonly text: string }[];
}

export interface ChartBar {
  readonly from: number;
  readonly to: number;
  readonly value: number;
  /** The part of the value that is marked as bad. */
  readonly bad?: number;
  /** Its row in the table of values. */
  readonly cells: readonly string[];
}

/** A point with a line from low to high. */
export interface ChartPoint {
  readonly x: number;
  readonly low: number;
  readonly middle: number;
  readonly high: number;
  readonly isBad?: boolean;
  readonly cells: readonly string[];
}

export interface Chart {
  readonly title: string;
  /** What the chart shows, in a sentence for every reader. */
  readonly summary: string;
  readonly x: Axis;
  readonly y: Axis;
  /** The headings of the table of values. */
  readonly headings: readonly string[];
  readonly bars?: readonly ChartBar[];
  readonly points?: readonly ChartPoint[];
  /** Vertical lines with labels. */
  readonly marks?: readonly { readonly value: number; readonly label: string }[];
}

const MARK_LINE_PX = 14;
// As many as fit below a chart on a phone.
const MAX_TICK_CHARS = 32;

/** A chart as a figure of HTML. It is drawn in percentages of its width, so that its text has the same size on every screen. */
export function chartFigure({ title, summary, x, y, headings, bars = [], points = [], marks = [] }: Chart): string {
  const caption = `<figcaption><b>${escapeHtml(title)}</b> ${escapeHtml(summary)}</figcaption>`;
  const rows = [...bars.filter(({ value }) => value > 0), ...points].map(({ cells }) => cells);
  if (rows.length === 0) return `<figure>${caption}<p>No values.</p></figure>`;
  const rowTitle = (cells: readonly string[]): string =>
    `<title>${escapeHtml(cells.map((cell, at) => `${headings[at]}: ${cell}`).join(', '))}</title>`;
  const bar = (from: number, to: number, low: number, high: number, name: string, cells: readonly string[]): string => {
    const [left, top] = [x.place(from), 1 - y.place(high)];
    const size = `width="${percent(x.place(to) - left)}" height="${percent(1 - y.place(low) - top)}"`;
    return `<rect class="${name}" x="${percent(left)}" y="${percent(top)}" ${size}>${rowTitle(cells)}</rect>`;
  };
  const markTop = (at: number): number => -6 - (marks.length - 1 - at) * MARK_LINE_PX;
  const shapes = [
    ...y.ticks.map(({ value, text }) => {
      const at = percent(1 - y.place(value));
      // A long number has no room beside the chart.
      const place = text.length > 8 ? 'dx="4" dy="-3"' : 'dx="-6" dy="4" text-anchor="end"';
      return `<line x1="0" x2="100%" y1="${at}" y2="${at}"/><text x="0" y="${at}" ${place}>${text}</text>`;
    }),
    ...spacedTicks(x).map(({ value, text }) => {
      const at = x.place(value);
      const anchor = at < 0.06 ? 'start' : at > 0.94 ? 'end' : 'middle';
      return `<text x="${percent(at)}" y="100%" dy="16" text-anchor="${anchor}">${text}</text>`;
    }),
    `<text dx="-52" dy="${-10 - marks.length * MARK_LINE_PX}">${escapeHtml(y.label)}</text>`,
    `<text x="50%" y="100%" dy="34" text-anchor="middle">${escapeHtml(x.label)}</text>`,
    ...bars.flatMap(({ from, to, value, bad = 0, cells }) => [
      ...(value > bad ? [bar(from, to, bad, value, 'bar', cells)] : []),
      ...(bad > 0 ? [bar(from, to, 0, bad, 'bar bad', cells)] : []),
    ]),
    ...points.map((point) => {
      const at = percent(x.place(point.x));
      const [low, middle, high] = [point.low, point.middle, point.high].map((value) => percent(1 - y.place(value)));
      const range = low === high ? '' : `<line x1="${at}" x2="${at}" y1="${low}" y2="${high}"/>`;
      return `<g class="point${point.isBad ? ' bad' : ''}">${rowTitle(point.cells)}${range}<circle cx="${at}" cy="${middle}" r="3"/></g>`;
    }),
    ...marks.map(({ value }, at) => {
      const place = percent(x.place(value));
      return `<line class="mark" x1="${place}" x2="${place}" y1="${markTop(at) - 8}" y2="100%"/>`;
    }),
    ...marks.map(({ value, label }, at) => {
      const place = x.place(value);
      const anchor = place > 0.5 ? 'dx="-4" text-anchor="end"' : 'dx="4"';
      return `<text class="mark" x="${percent(place)}" dy="${markTop(at)}" ${anchor}>${escapeHtml(label)}</text>`;
    }),
  ];
  const description = `<title>${escapeHtml(title)}</title><desc>${escapeHtml(summary)}</desc>`;
  return `<figure>${caption}<svg role="img" class="marks${marks.length}">${description}${shapes.join('')}</svg><details><summary>Values</summary>${htmlTable(headings, rows)}</details></figure>`;
}

interface Histogram extends Omit<Chart, 'headings' | 'bars' | 'points'> {
  readonly bars: readonly {
    readonly from: number;
    readonly to: number;
    readonly count: number;
    readonly bad?: number;
  }[];
  /** The values between two numbers, for the table. */
  readonly labelOf: (from: number, to: number) => string;
  /** The heading of the bad parts. */
  readonly badHeading?: string;
}

/** A histogram as a figure of HTML. */
export function histogramFigure({ bars, labelOf, badHeading, ...chart }: Histogram): string {
  return chartFigure({
    ...chart,
    headings: [chart.x.label, chart.y.label, ...(badHeading ? [badHeading] : [])],
    bars: bars.map(({ from, to, count, bad = 0 }) => ({
      ...{ from, to, bad, value: count },
      cells: [labelOf(from, to), ...(badHeading ? [count, bad] : [count]).map(formatNumber)],
    })),
  });
}

/** An axis from 0 for counts or, unless `isWhole`, for rates. */
export function countAxis(label: string, counts: readonly number[], isWhole = true): Axis {
  const highest = counts.reduce((high, count) => Math.max(high, count), 0) || 1;
  const step = tickStep(highest, isWhole ? 1 : 0);
  return linearAxis(label, 0, Math.ceil(highest / step) * step, step);
}

/** An axis from the least to the greatest of some values. */
export function valueAxis(label: string, values: readonly number[], isWhole = false): Axis {
  // The outer bins of the largest doubles end at infinity.
  const finite = values.map((value) => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value)));
  const [low, high] = values.length > 0 ? [Math.min(...finite), Math.max(...finite)] : [0, 0];
  // Halves, because the difference of two doubles can exceed the range of a double.
  const half = high / 2 - low / 2;
  if (half > Math.abs(high) * 1e-9) return linearAxis(label, low, high, tickStep(2 * half, isWhole ? 1 : 0));
  return {
    label,
    place: (value) => 0.5 + Math.sign(value - low) / 20,
    ticks: [{ value: low, text: formatNumber(low) }],
  };
}

/** A logarithmic axis; values are more than 0. */
export function logAxis(label: string, low: number, high: number, format: (value: number) => string): Axis {
  const [start, end] = [Math.log10(low), Math.log10(high)];
  const decades = Array.from(
    { length: Math.ceil(end) - Math.floor(start) + 1 },
    (_, at) => 10 ** (Math.floor(start) + at),
  );
  const candidates = [[1, 2, 5], [1, 3], [1]].map((factors) =>
    decades
      .flatMap((decade) => factors.map((factor) => factor * decade))
      .filter((value) => value >= low && value <= high),
  );
  const values = candidates.find(({ length }) => length <= 4) ?? candidates.at(-1) ?? [];
  const ticks = values.map((value) => ({ value, text: format(value) }));
  return { label, place: (value) => Math.max(0, (Math.log10(value) - start) / (end - start)), ticks };
}

function linearAxis(label: string, low: number, high: number, step: number): Axis {
  const first = Math.ceil(low / step);
  const values = Array.from({ length: 9 }, (_, at) => (first + at) * step + 0).filter((value) => value <= high);
  return {
    label,
    place: (value) => Math.max(0, Math.min(1, (value / 2 - low / 2) / (high / 2 - low / 2))),
    ticks: values.map((value) => ({ value, text: formatTick(value, step) })),
  };
}

// 1, 2 or 5 times a power of ten, for about five ticks.
function tickStep(range: number, minStep: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(range / 5));
  const ratio = range / 5 / magnitude;
  return Math.max(
    minStep,
    magnitude * (ratio < Math.SQRT2 ? 1 : ratio < Math.sqrt(10) ? 2 : ratio < Math.sqrt(50) ? 5 : 10),
  );
}

function formatTick(value: number, step: number): string {
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const isShort = Math.abs(value) >= 1e6 && step >= Math.abs(value) / 1000;
  if (isShort) return Math.abs(value) < 1e15 ? COMPACT.format(value) : formatNumber(Number(value.toPrecision(3)));
  return digits === 0 || digits > 6 ? formatNumber(value) : value.toFixed(digits);
}

const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });

function spacedTicks({ ticks }: Axis): Axis['ticks'] {
  const step = Math.ceil(ticks.reduce((sum, { text }) => sum + text.length, 0) / MAX_TICK_CHARS);
  return ticks.filter((_, at) => at % step === 0);
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))}%`;
}
