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

/** Replaces the children of an element if their key has changed. An element with an id keeps the focus. */
export function draw(element, key, children) {
  if (element.dataset.drawn === key) return;
  element.dataset.drawn = key;
  const { id } = element.contains(document.activeElement) ? document.activeElement : {};
  element.replaceChildren(...children());
  if (id) document.getElementById(id)?.focus();
}

const TIME = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' };

/** A time in the zone of the reader, with the exact one as its title. Text that is not a time stays as it is. */
export function time(moment) {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return String(moment);
  const dateTime = date.toISOString();
  const title = typeof moment === 'string' ? moment : dateTime;
  return el('time', { dateTime, title }, date.toLocaleString(undefined, TIME));
}

export function duration(ms) {
  if (ms === null) return '';
  if (ms < 1000) return `${short(ms)} ms`;
  return ms < 60_000 ? `${short(ms / 1000)} s` : `${short(ms / 60_000)} min`;
}

/** A computed number with four digits; stored numbers are shown as their text. */
export function short(number) {
  return String(Number(number.toPrecision(4)));
}

export function counted(count, one, many) {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
