// Everything stored is hostile text: it becomes text nodes only, never markup.

/** An element with properties and styles; children that are text become text nodes. */
export function el(name, { style, ...properties } = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  Object.assign(element.style, style);
  element.append(...children.flat());
  return element;
}

export function svg(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
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
