// Everything stored is hostile text: it becomes text nodes only, never markup.

/** An element with properties and styles; children that are text become text nodes. */
export function el(name, { style, ...properties } = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  Object.assign(element.style, style);
  element.append(...children.flat());
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

/** The element of markup: [name, attributes, content], where content is a text, or a list of texts and elements. */
export function elementOf([name, attributes, content = []], parent = 'http://www.w3.org/1999/xhtml') {
  const space = name === 'svg' ? SVG : parent;
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...[content].flat().map((each) => (typeof each === 'string' ? each : elementOf(each, space))));
  return element;
}

/** A histogram as small as a word, with its limits. */
export function sparkline(counts, name, low, high) {
  const highest = Math.max(...counts);
  const bars = counts.map((count, at) => {
    const height = Math.ceil((16 * count) / highest);
    return ['rect', { class: 'bar', x: at * 4, y: 16 - height, width: 3, height }];
  });
  const size = { width: counts.length * 4, height: 16, role: 'img', 'aria-label': name };
  return [elementOf(['svg', size, bars]), el('small', {}, ` ${low} to ${high}`)];
}

export function link(href, text, className = '') {
  return el('a', { href, className }, text);
}

export function button(text, onclick) {
  return el('button', { type: 'button', onclick }, text);
}

export function badge(text, className = '') {
  return el('span', { className: `badge ${className}` }, text);
}

/** A state with a shape and a word, so that it needs no color. */
export function failedBadge(text) {
  return badge(`✕ ${text}`, 'failed');
}

/** Marks where a search was found, as the service finds it: case, white space, quotes and backslashes do not matter. */
export function markFound(root, search = '') {
  const fold = (text) => text.toLowerCase().replace(/[\\"\s]/g, '');
  const wanted = fold(search);
  if (wanted === '') return;
  let text = '';
  let block;
  const places = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement.closest('div, dd, dt, p, h2, h3, li, summary, pre, small, .badge');
    if (node.parentElement.closest('mark, button, option')) continue;
    if (parent !== block) places.push(undefined);
    if (parent !== block) text += '\0';
    block = parent;
    for (let at = 0; at < node.data.length; at += 1) {
      const folded = fold(node.data[at]);
      text += folded;
      for (let each = 0; each < folded.length; each += 1) places.push({ node, at });
    }
  }
  const ranges = new Map();
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
    for (const place of places.slice(at, at + wanted.length)) {
      const own = ranges.get(place.node) ?? [];
      const last = own.at(-1);
      if (last?.found === at) last.to = place.at + 1;
      else ranges.set(place.node, [...own, { found: at, from: place.at, to: place.at + 1 }]);
    }
  for (const [node, own] of ranges)
    for (const { from, to } of own.reverse()) {
      const range = document.createRange();
      range.setStart(node, from);
      range.setEnd(node, to);
      range.surroundContents(document.createElement('mark'));
    }
}

/** Replaces the children of an element if their key has changed. An element with an id keeps the focus. */
export function draw(element, key, children) {
  if (element.dataset.drawn === key) return;
  element.dataset.drawn = key;
  const { id } = element.contains(document.activeElement) ? document.activeElement : {};
  element.replaceChildren(...children());
  if (id) document.getElementById(id)?.focus();
}

/** A time in the zone of the reader, as `2026-01-31 13:00:00 UTC+01:00`; 23 characters before the zone have milliseconds. */
export function timeText(moment, length = 19) {
  const date = new Date(moment);
  const minutes = -date.getTimezoneOffset();
  if (Number.isNaN(date.getTime())) return String(moment);
  const two = (number) => String(Math.trunc(number)).padStart(2, '0');
  const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, length).replace('T', ' ');
  const offset = Math.abs(minutes);
  const zone = offset === 0 ? '' : `${minutes < 0 ? '-' : '+'}${two(offset / 60)}:${two(offset % 60)}`;
  return `${local} UTC${zone}`;
}

/** The same as an element, with the exact time as its title. */
export function time(moment, length) {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return String(moment);
  const title = typeof moment === 'string' ? moment : date.toISOString();
  // Where it wraps, it does so between the date and the time.
  const text = timeText(moment, length);
  return el('time', { title }, el('span', {}, text.slice(0, 10)), ' ', el('span', {}, text.slice(11)));
}

export function duration(ms) {
  if (ms === null) return '';
  if (ms > 0 && ms < 1) return ms < 0.001 ? `${short(ms * 1e6)} ns` : `${short(ms * 1000)} µs`;
  if (ms < 1000) return `${short(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toPrecision(4)} s`;
  return ms < 3_600_000 ? `${short(ms / 60_000)} min` : `${short(ms / 3_600_000)} h`;
}

/** A computed number with four digits; stored numbers are shown as their text. */
export function short(number) {
  return String(Number(number.toPrecision(4)));
}

export function counted(count, one, many) {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
