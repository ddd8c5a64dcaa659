import { counted, el, short, svg } from './dom.js';

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [480, 150, 52, 8, 8, 34];
const [BAR, LINE, TEXT] = ['var(--bar)', 'var(--line)', 'var(--soft)'];
const MAX_BINS = 20;
const MAX_MARKS = 240;

/** The least and the greatest of some values. */
export function limits(values) {
  return [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
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
  return [svg('svg', size, ...bars), el('small', {}, `${short(low)} to ${short(high)}`)];
}

// Marks on two axes with ticks, values and names. `draw` gets functions that place a value.
function chart(title, xName, xValues, yName, yValues, draw) {
  const [[xLow, xHigh], [yLow, yHigh]] = [limits(xValues), limits(yValues)];
  const scale = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);
  const [x, y] = [scale(xLow, xHigh, LEFT, WIDTH - RIGHT), scale(yLow, yHigh, HEIGHT - BOTTOM, TOP)];
  const ticks = (low, high) => {
    const format = high - low > MAX_BINS ? Math.round : (value) => value;
    return low === high ? [low] : [low, format((low + high) / 2), high];
  };
  const text = (words, at, y, anchor) =>
    svg('text', { x: at, y, 'text-anchor': anchor, 'font-size': 11, fill: TEXT }, words);
  const axes = [
    ...ticks(yLow, yHigh).flatMap((value) => [
      svg('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), stroke: LINE }),
      text(short(value), LEFT - 6, y(value) + 4, 'end'),
    ]),
    ...ticks(xLow, xHigh).map((value, at) =>
      text(short(value), x(value), HEIGHT - BOTTOM + 14, ['start', 'middle', 'end'][at]),
    ),
    text(xName, (LEFT + WIDTH) / 2, HEIGHT - 4, 'middle'),
  ];
  const properties = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${yName} by ${xName}` };
  const caption = el('figcaption', {}, el('b', {}, title), ' ', el('small', {}, yName));
  return el('figure', {}, caption, svg('svg', properties, ...axes, ...draw(x, y)));
}

export function histogram(title, values, xName, yName) {
  const { sizes, highest } = bins(values);
  const width = (WIDTH - LEFT - RIGHT) / sizes.length;
  return chart(title, xName, values, yName, [0, highest], (_x, y) =>
    sizes.map((size, at) =>
      svg('rect', { x: LEFT + at * width + 1, y: y(size), width: width - 2, height: y(0) - y(size), fill: BAR }),
    ),
  );
}

/** A line from the lowest to the highest value of each group, at most 240; a point for a group without a difference. */
export function ranges(title, groups, xName, yName) {
  const step = Math.ceil(groups.length / MAX_MARKS);
  const [positions, ends] = [groups.map(({ at }) => at), groups.flatMap(({ low, high }) => [low, high])];
  return chart(title, xName, positions, yName, ends, (x, y) =>
    groups
      .filter((_, at) => at % step === 0)
      .map(({ at, low, high }) =>
        low === high
          ? svg('circle', { cx: x(at), cy: y(low), r: 2.5, fill: 'var(--bad)' })
          : svg('line', { x1: x(at), x2: x(at), y1: y(low), y2: y(high), stroke: BAR, 'stroke-width': 2 }),
      ),
  );
}

/** The mean at each position, of neighbors together where there are more than 240. */
export function means(title, points, xName, yName) {
  const size = Math.ceil(points.length / MAX_MARKS);
  const marks = Array.from({ length: Math.ceil(points.length / size) }, (_, at) => {
    const part = points.slice(at * size, (at + 1) * size);
    return [0, 1].map((index) => part.reduce((sum, point) => sum + point[index], 0) / part.length);
  });
  const [positions, values] = [points.map(([at]) => at), marks.map(([, value]) => value)];
  return chart(title, xName, positions, yName, values, (x, y) =>
    marks.map(([at, value]) => svg('circle', { cx: x(at), cy: y(value), r: 2, fill: BAR })),
  );
}
