import { counted, el, short, svg } from './dom.js';

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [480, 150, 52, 8, 8, 34];
const [BAR, BAD, SOFT] = ['var(--bar)', 'var(--bad)', 'var(--soft)'];
const MAX_BINS = 20;
const MAX_MARKS = 240;

/** The least and the greatest of some values. */
export function limits(values) {
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
}

export function meanOf(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function bins(values) {
  const [low, high] = limits(values);
  const count = low === high ? 1 : Math.min(MAX_BINS, new Set(values).size);
  const sizes = Array.from({ length: count }, () => 0);
  for (const value of values) sizes[Math.min(count - 1, Math.floor(((value - low) / (high - low || 1)) * count))] += 1;
  return { low, high, sizes, highest: Math.max(...sizes) };
}

/** A histogram as small as a word, with its least and greatest value. */
export function sparkline(values, name) {
  const { low, high, sizes, highest } = bins(values);
  const bars = sizes.map((size, at) => {
    const height = Math.ceil((16 * size) / highest);
    return svg('rect', { x: at * 4, y: 16 - height, width: 3, height, fill: BAR });
  });
  const label = `${name}: ${counted(values.length, 'value', 'values')}`;
  const size = { width: sizes.length * 4, height: 16, role: 'img', 'aria-label': label };
  return [svg('svg', size, ...bars), el('small', {}, ` ${short(low)} to ${short(high)}`)];
}

// Marks on two axes with ticks, values and names. `marks` gets functions that place a value.
function chart(xName, xValues, yName, yValues, marks) {
  const [xs, ys] = [limits(xValues), limits(yValues)];
  const place = (value, [low, high], from, to) => from + ((value - low) / (high - low || 1)) * (to - from);
  const x = (value) => place(value, xs, LEFT, WIDTH - RIGHT);
  const y = (value) => place(value, ys, HEIGHT - BOTTOM, TOP);
  const ticks = ([low, high]) => {
    const middle = (low + high) / 2;
    return low === high ? [low] : [low, high - low > MAX_BINS ? Math.round(middle) : middle, high];
  };
  const text = (words, x, y, anchor) =>
    svg('text', { x, y, 'text-anchor': anchor, 'font-size': 11, fill: SOFT }, words);
  const axes = [
    ...ticks(ys).flatMap((value) => [
      svg('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), stroke: SOFT, 'stroke-opacity': 0.3 }),
      text(short(value), LEFT - 6, y(value) + 4, 'end'),
    ]),
    ...ticks(xs).map((value, at) => text(short(value), x(value), HEIGHT - BOTTOM + 14, ['start', 'middle', 'end'][at])),
    text(xName, (LEFT + WIDTH) / 2, HEIGHT - 4, 'middle'),
  ];
  const title = `${yName} by ${xName}`;
  const size = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': title };
  return el('figure', {}, el('h3', {}, title), svg('svg', size, ...axes, ...marks(x, y)));
}

/** The number of values in each range; of the first range, a part can be marked. Nothing without values. */
export function histogram(xName, yName, values, markedCount = 0) {
  if (values.length === 0) return '';
  const { sizes, highest } = bins(values);
  const width = (WIDTH - LEFT - RIGHT) / sizes.length;
  const bar = (y, size, at, fill) =>
    svg('rect', { x: LEFT + at * width + 1, y: y(size), width: width - 2, height: y(0) - y(size), fill });
  return chart(xName, values, yName, [0, highest], (_, y) => [
    ...sizes.map((size, at) => bar(y, size, at, BAR)),
    bar(y, markedCount, 0, BAD),
  ]);
}

/** The mean at each position, of neighbors together where there are more than 240. Nothing for one position. */
export function means(xName, yName, points) {
  if (points.length < 2) return '';
  const sorted = points.toSorted(([left], [right]) => left - right);
  const size = Math.ceil(points.length / MAX_MARKS);
  const marks = Array.from({ length: Math.ceil(points.length / size) }, (_, at) => {
    const part = sorted.slice(at * size, (at + 1) * size);
    return [0, 1].map((index) => meanOf(part.map((point) => point[index])));
  });
  const [positions, values] = [sorted.map(([at]) => at), marks.map(([, value]) => value)];
  return chart(xName, positions, yName, values, (x, y) =>
    marks.map(([at, value]) => svg('circle', { cx: x(at), cy: y(value), r: 2, fill: BAR })),
  );
}
