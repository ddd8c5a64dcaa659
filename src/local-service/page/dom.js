// Everything stored is hostile text: it becomes text nodes only, never markup.

/** An element with properties; children that are text become text nodes. */
export function el(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
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
  if (ms < 60_000) return `${short(ms / 1000)} s`;
  return `${short(ms / 60_000)} min`;
}

/** A computed number with four digits; stored numbers are shown as their text. */
export function short(number) {
  return String(Number(number.toPrecision(4)));
}

export function counted(count, one, many) {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** Names and values; those without a value are left out. */
export function factList(facts) {
  const shown = facts.filter(([, value]) => value);
  return el(
    'dl',
    {},
    shown.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
  );
}
