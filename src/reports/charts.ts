import { formatNumber, wholeRange } from '../output/transfer-text.ts';
import type { Bin } from './distribution.ts';
import { element, type Markup, tableOf } from './report-page.ts';

/** A scale of a chart: `place` is 0 at its left or lower end, and 1 at the other. */
interface Axis {
  readonly label: string;
  readonly place: (value: number) => number;
  readonly ticks: readonly { readonly value: number; readonly text: string }[];
  /** Whether all ticks have room. */
  readonly isSpaced?: boolean;
  readonly range: (from: number, to: number) => string;
}

type Bar = Pick<Bin, 'from' | 'to' | 'count'> & { readonly bad?: number };

type Point = Bin & { readonly isBad?: boolean; readonly name?: string };

interface Chart {
  readonly title: string;
  /** What the chart shows, in a sentence for every reader. */
  readonly summary: string;
  readonly x: Axis;
  readonly yLabel: string;
  /** Bars; `bad` is the part of the count that is marked. */
  readonly bars?: readonly Bar[];
  readonly badLabel?: string;
  /** The highest bar of all charts that have the same scale. */
  readonly highest?: number;
  /** Points at the mean, with a line from the minimum to the maximum. */
  readonly points?: readonly Point[];
  /** The values of all charts of points that have the same scale. */
  readonly values?: readonly number[];
  readonly marks?: readonly { readonly value: number; readonly label: string }[];
}

const MARK_LINE_PX = 14;
// As many as fit below a chart on a phone.
const MAX_TICK_CHARS = 32;

/** A chart with its values as a table. It is drawn in percentages of its width, so that its text has the same size on every screen. */
export function chartFigure(chart: Chart): Markup {
  const { title, summary, x, yLabel, badLabel, highest = 0, marks = [], ...data } = chart;
  const bars = (data.bars ?? []).filter(({ count }) => count > 0);
  const points = (data.points ?? []).filter(({ count }) => count > 0);
  const values = [...(data.values ?? []), ...points.flatMap(({ min, max }) => [min, max])];
  const highestBar = Math.max(highest, ...bars.map(({ count }) => count));
  const y = points.length > 0 ? valueAxis(yLabel, values) : countAxis(yLabel, highestBar);
  const headings = [x.label, ...(points.length > 0 ? ['Values', 'Lowest', 'Mean', 'Highest'] : [yLabel])];
  const rows = [
    ...bars.map(({ from, to, count, bad = 0 }) => [x.range(from, to), ...(badLabel ? [count, bad] : [count])]),
    ...points.map(({ from, to, count, min, mean, max, name }) => [name ?? x.range(from, to), count, min, mean, max]),
  ].map((row) => row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)));
  if (rows.length === 0) return figureOf(title, summary, element('p', 'No values.'));
  const titles = rows.map((row) => element('title', row.join(', ')));
  const shapes = [
    ...axisShapes(x, y, marks.length),
    ...bars.flatMap((bar, at) => barShapes(bar, x, y, titles[at] ?? '')),
    ...points.map((point, at) => pointShape(point, x, y, titles[at] ?? '')),
    ...markShapes(marks, x),
  ];
  const labels = [element('title', title), element('desc', summary)];
  const table = tableOf(badLabel ? [...headings, badLabel] : headings, rows);
  const drawing: Markup = ['svg', { role: 'img', class: `marks${marks.length}` }, [...labels, ...shapes]];
  return figureOf(title, summary, drawing, element('details', element('summary', 'Values'), ...table));
}

function axisShapes(x: Axis, y: Axis, markCount: number): Markup[] {
  return [
    ...y.ticks.flatMap(({ value, text }): Markup[] => {
      const at = percent(1 - y.place(value));
      // A long number has no room beside the chart.
      const place = text.length > 8 ? { dx: 4, dy: -3 } : { dx: -6, dy: 4, 'text-anchor': 'end' };
      return [
        ['line', { x1: 0, x2: '100%', y1: at, y2: at }],
        ['text', { y: at, ...place }, text],
      ];
    }),
    ...spacedTicks(x).map(({ value, text }): Markup => {
      const at = x.place(value);
      const anchor = at < 0.06 ? 'start' : at > 0.94 ? 'end' : 'middle';
      return ['text', { x: percent(at), y: '100%', dy: 16, 'text-anchor': anchor }, text];
    }),
    ['text', { dx: -52, dy: -10 - markCount * MARK_LINE_PX }, y.label],
    ['text', { x: '50%', y: '100%', dy: 34, 'text-anchor': 'middle' }, x.label],
  ];
}

// The bar, and over it the part that is marked.
function barShapes({ from, to, count, bad = 0 }: Bar, x: Axis, y: Axis, title: Markup): Markup[] {
  const parts = [['bar', count] as const, ...(bad > 0 ? [['bar bad', bad] as const] : [])];
  return parts.map(([name, value]): Markup => {
    const height = y.place(value);
    const place = { x: percent(x.place(from)), y: percent(1 - height), width: percent(x.place(to) - x.place(from)) };
    return ['rect', { class: name, ...place, height: percent(height) }, [title]];
  });
}

function pointShape({ from, min, mean, max, isBad = false }: Point, x: Axis, y: Axis, title: Markup): Markup {
  const place = x.place(from);
  const [low = '', middle = '', high = ''] = [min, mean, max].map((value) => percent(1 - y.place(value)));
  const circle: Markup = ['circle', { cx: percent(place), cy: middle, r: 3 }];
  return ['g', { class: `point${isBad ? ' bad' : ''}` }, [title, uprightLine(place, low, high), circle]];
}

// The labels after the lines, which they may cover.
function markShapes(marks: NonNullable<Chart['marks']>, x: Axis): Markup[] {
  const placed = marks.map(({ value, label }, at) => {
    return { label, place: x.place(value), top: -6 - (marks.length - 1 - at) * MARK_LINE_PX };
  });
  return [
    ...placed.map(({ place, top }) => uprightLine(place, top - 8, '100%', 'mark')),
    ...placed.map(({ label, place, top }): Markup => {
      const side = place > 0.5 ? { dx: -4, 'text-anchor': 'end' } : { dx: 4 };
      return ['text', { class: 'mark', x: percent(place), dy: top, ...side }, label];
    }),
  ];
}

function uprightLine(at: number, y1: string | number, y2: string, name = ''): Markup {
  return ['line', { class: name, x1: percent(at), x2: percent(at), y1, y2 }];
}

function figureOf(title: string, summary: string, ...content: Markup[]): Markup {
  return element('figure', element('figcaption', element('b', title), ` ${summary}`), ...content);
}

function countAxis(label: string, highest: number): Axis {
  const step = tickStep((highest || 1) / 5, Number.isInteger(highest) ? 1 : 0);
  return linearAxis(label, 0, Math.ceil((highest || 1) / step) * step, step);
}

/** An axis from the least to the greatest of some values. */
export function valueAxis(label: string, values: readonly number[], isWhole = false, format = formatNumber): Axis {
  // The outer bins of the largest doubles end at infinity.
  const finite = values.map((value) => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value)));
  const [low, high] = values.length > 0 ? [Math.min(...finite), Math.max(...finite)] : [0, 0];
  // Halves, because the difference of two doubles can exceed the range of a double.
  const half = high / 2 - low / 2;
  const linear = linearAxis(label, low, high, tickStep(half / 2.5, isWhole ? 1 : 0), isWhole);
  const range: Axis['range'] = (from, to) => (isWhole ? wholeRange(from, to, format) : linear.range(from, to));
  const axis = { ...linear, range };
  if (half > Math.abs(high) * 1e-9) return axis;
  const ticks = [{ value: low, text: format(low) }];
  return { ...axis, ticks, place: (value) => 0.5 + Math.sign(value - low) / 20 };
}

/** The axis of bars; those of whole numbers are a number wide at least. One bar of a single value has one tick. */
export function barsAxis(label: string, bars: readonly Pick<Bin, 'from' | 'to'>[], isWhole = false): Axis {
  const ends = bars.flatMap(({ from, to }) => [from, to]);
  return valueAxis(label, bars.length === 1 ? ends.slice(0, 1) : ends, isWhole);
}

/** A logarithmic axis of whole numbers; `low` is more than 0. */
export function logAxis(label: string, low: number, high: number, format: (value: number) => string): Axis {
  const [start, end] = [Math.log10(low), Math.log10(high)];
  const values = spreadOut(logTicks(low, high));
  return {
    label,
    place: (value) => Math.max(0, (Math.log10(value) - start) / (end - start)),
    ticks: values.map((value) => ({ value, text: format(value) })),
    isSpaced: true,
    range: (from, to) => wholeRange(from, to, format),
  };
}

const MIN_LOG_TICKS = 5;

// At least five: of powers of ten alone, of more digits, or, of a short range, in equal steps.
function logTicks(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const decades = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, at) => 10 ** (first + at));
  for (const factors of [[1], [1, 3], [1, 2, 5], [1, 2, 3, 5], [1, 1.5, 2, 3, 5, 7]]) {
    const values = decades.flatMap((decade) => factors.map((factor) => factor * decade));
    const within = values.filter((value) => value >= low && value <= high);
    if (within.length >= MIN_LOG_TICKS) return within;
  }
  for (let step = tickStep((high - low) / MIN_LOG_TICKS, 0); ; step /= 2) {
    const least = Math.ceil(low / step);
    const count = Math.floor(high / step) - least + 1;
    if (count >= MIN_LOG_TICKS) return Array.from({ length: count }, (_, at) => (least + at) * step);
  }
}

// Five of more than six, which have no room on a phone.
function spreadOut(values: readonly number[]): number[] {
  if (values.length <= MIN_LOG_TICKS + 1) return [...values];
  const share = (values.length - 1) / (MIN_LOG_TICKS - 1);
  return values.filter((_, at) => Math.round(Math.round(at / share) * share) === at);
}

function linearAxis(label: string, low: number, high: number, step: number, isWhole = false): Axis {
  const first = Math.ceil(low / step);
  const values = Array.from({ length: 9 }, (_, at) => (first + at) * step + 0).filter((value) => value <= high);
  return {
    label,
    place: (value) => Math.max(0, Math.min(1, (value / 2 - low / 2) / (high / 2 - low / 2))),
    ticks: values.map((value) => ({ value, text: formatTick(value, step) })),
    range: (from, to) => (isWhole ? wholeRange(from, to) : `${formatNumber(from)} to ${formatNumber(to)}`),
  };
}

// 1, 2 or 5 times a power of ten, near a fifth of the range.
function tickStep(fifth: number, minStep: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(fifth));
  const ratio = fifth / magnitude;
  return Math.max(
    minStep,
    magnitude * (ratio < Math.SQRT2 ? 1 : ratio < Math.sqrt(10) ? 2 : ratio < Math.sqrt(50) ? 5 : 10),
  );
}

function formatTick(value: number, step: number): string {
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const isShort = Math.abs(value) >= 1e6 && step >= Math.abs(value) / 1000;
  // Its data is loaded at the first use, which takes 10 ms.
  const compact = { notation: 'compact', maximumSignificantDigits: 3 } as const;
  if (isShort && Math.abs(value) < 1e15) return value.toLocaleString('en-US', compact);
  if (isShort) return formatNumber(Number(value.toPrecision(3)));
  return digits === 0 || digits > 6 ? formatNumber(value) : value.toFixed(digits);
}

function spacedTicks({ ticks, isSpaced }: Axis): Axis['ticks'] {
  if (isSpaced) return ticks;
  const step = Math.ceil(ticks.reduce((sum, { text }) => sum + text.length, 0) / MAX_TICK_CHARS);
  return ticks.filter((_, at) => at % step === 0);
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))}%`;
}
