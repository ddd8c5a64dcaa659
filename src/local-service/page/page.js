import { download, login, read } from './api.js';
import { button, counted, draw, el, link, markFound } from './dom.js';
import { CLOSED, describe, fieldsOf, href, queryOf, readState, tables } from './state.js';
import { chosenPaths, columnsOf, panels } from './views.js';
import { createWaterfall, keyOf } from './waterfall.js';

const LIVE_INTERVAL_MS = 2000;
const TYPING_DELAY_MS = 250;
const MAX_LIVE_TRACE_CALLS = 1000;

const byId = (id) => document.getElementById(id);
const [list, trace, panel, status, filters, live] = ['list', 'trace', 'panel', 'status', 'filters', 'live'].map(byId);

let state = readState();
// What was read for the state: the rows of a list, the calls of a trace, the record of the panel. A response for another
// state is dropped.
let loaded = { rows: [] };
let opened = {};
let panelKey;
let closing = new AbortController();
let totals = {};
let typing;
// The first selection adds to the history, the next ones replace it.
const waterfall = createWaterfall(trace, (call) =>
  go(href(state, { in: call.project_id, id: call.id }), state.parameters.id !== undefined),
);

const shortcuts = {
  '/': () => filters.elements.namedItem('q').focus(),
  '?': () => byId('keys').showModal(),
  j: () => move(1),
  k: () => move(-1),
  p: () => panel.querySelector('a')?.focus(),
  Escape: () => {
    // Whoever reads on by keyboard is where the record was opened.
    const opener = list.hidden ? waterfall : list.querySelector('.selected .opener');
    if (panel.contains(document.activeElement)) opener?.focus();
    go(href(state, state.parameters.id ? { in: '', id: '', with: '' } : CLOSED));
  },
};

window.addEventListener('hashchange', render);
window.setInterval(refresh, LIVE_INTERVAL_MS);
live.addEventListener('change', refresh);
document.addEventListener('keydown', onKey);
byId('help').addEventListener('click', shortcuts['?']);
byId('export').addEventListener('click', () => exportRows().catch(say));
// What is opened is made then, and marked like the rest.
panel.addEventListener('toggle', () => markFound(panel, state.parameters.q), true);
byId('skip').addEventListener('click', () => byId('main').focus());
filters.addEventListener('submit', (event) => event.preventDefault());
filters.addEventListener('input', () => {
  window.clearTimeout(typing);
  typing = window.setTimeout(() => {
    go(href(state, { ...CLOSED, ...Object.fromEntries(new FormData(filters)) }), true);
    typing = undefined;
  }, TYPING_DELAY_MS);
});
drawNavigation();
await login().then(render).catch(say);

function say({ message }) {
  status.textContent = `✕ ${message}`;
}

async function exportRows() {
  await download({ table: state.table, ...queryOf(state) });
}

function go(url, isReplacement = false) {
  if (!isReplacement) location.hash = url;
  else {
    history.replaceState(null, '', url);
    render();
  }
}

// Shows the state of the URL; reads first what it lacks.
async function render() {
  state = readState();
  const { trace: traceId, id } = state.parameters;
  drawNavigation();
  drawFilters();
  document.body.className = `${state.table} ${id === undefined ? '' : 'has-panel'} ${traceId === undefined ? '' : 'in-trace'}`;
  list.hidden = traceId !== undefined;
  trace.hidden = !list.hidden;
  panel.hidden = id === undefined;
  await Promise.all([renderList(), renderTrace(), renderPanel()]).catch(say);
}

function drawNavigation() {
  document.title = `${tables[state.table].title} · svc`;
  draw(byId('nav'), JSON.stringify([state.table, totals]), () =>
    Object.entries(tables).map(([name, { title, total }]) => {
      const ariaCurrent = name === state.table ? 'page' : null;
      return el(
        'a',
        { id: `table-${name}`, href: `#${name}`, ariaCurrent },
        `${title} `,
        el('small', {}, totals[total] ?? ''),
      );
    }),
  );
}

// The fields of a table are made once, so that one keeps the focus while its text changes.
function drawFilters() {
  const fields = fieldsOf(state);
  const shown = state.table === 'calls' ? 2 : 0;
  draw(filters, state.table, () => {
    const [search, ...others] = fields.map(fieldElement);
    const more = el('details', {}, el('summary', {}, 'More filters'), el('div', {}, others.slice(shown)));
    return [search, ...others.slice(0, shown), ...sortFields(), more, button('Clear', () => go(`#${state.table}`))];
  });
  const values = [...fields, ...['sort', 'order'].map((name) => ({ name, value: state.parameters[name] ?? '' }))];
  for (const { name, value } of values) {
    const field = filters.elements.namedItem(name);
    if (field instanceof RadioNodeList) for (const radio of field) radio.checked = radio.value === value;
    else if (field && (typing === undefined || field !== document.activeElement)) field.value = value;
  }
  if (fields.slice(1 + shown).some(({ value }) => value)) filters.querySelector('details').open = true;
  filters.querySelector('button').hidden = describe(state) === '';
}

function fieldElement({ name, label, hint = '', choices }) {
  if (!choices) {
    const type = name === 'q' ? 'search' : 'text';
    const input = el('input', { name, type, placeholder: hint, autocomplete: 'off', spellcheck: false });
    return el('label', { className: name }, label, input);
  }
  const radios = Object.entries(choices).map(([value, text]) =>
    el(
      'label',
      {},
      el('input', { name, type: 'radio', value, checked: value === '' }),
      el('span', { className: 'choice' }, text),
    ),
  );
  return el('fieldset', {}, el('legend', {}, label), radios);
}

// For narrow screens, which show no heads of columns; the order has only its heads.
function sortFields() {
  if (state.table !== 'calls') return [];
  const texts = { '': 'Newest first', duration: 'Slowest first', failures: 'Most failures first' };
  const options = Object.entries(texts).map(([value, text]) => el('option', { value }, text));
  return [
    el('label', { className: 'sort' }, 'Sort', el('select', { name: 'sort' }, options)),
    el('input', { name: 'order', type: 'hidden' }),
  ];
}

async function renderList() {
  const query = queryOf(state);
  const key = JSON.stringify([state.table, query]);
  if (loaded.key === key) return drawList();
  loaded = { key, table: state.table, query, rows: [], paths: [], next: null };
  draw(list, key, () => []);
  status.textContent = 'Loading…';
  await readOlder(loaded);
}

async function readPage(own, before) {
  const page = await read(own.table, before === null ? own.query : { ...own.query, before });
  if (before === null) own.paths = page.paths;
  totals = page.totals;
  own.isAscending = page.order.isAscending;
  for (const [at, row] of page.rows.entries()) row.order = page.order.key[at];
  drawNavigation();
  return page;
}

// As the service sorts them.
function compareRows({ order: left }, { order: right }) {
  const at = left.findIndex((value, index) => value !== right[index]);
  return at < 0 ? 0 : left[at] < right[at] ? -1 : 1;
}

// Of two versions of a row, the one that was read last.
function showRows(own, rows, next) {
  const all = new Map(rows.map((row) => [row.trace ?? keyOf(row), row]));
  const sign = own.isAscending ? 1 : -1;
  Object.assign(own, { rows: [...all.values()].sort((left, right) => sign * compareRows(left, right)), next });
  if (own === loaded) drawList();
}

async function readOlder(own) {
  const { rows, next } = await readPage(own, own.next);
  showRows(own, [...own.rows, ...rows], next);
}

// Adds the first rows to those that were shown; if more than a page is new, the list starts again.
async function refresh() {
  const own = loaded;
  const pause = !live.checked ? ' (off)' : state.parameters.until ? ' (paused: the time range has an end)' : '';
  live.nextSibling.textContent = ` Live${pause}`;
  if (pause || document.hidden || own.key === undefined || own.isBusy) return;
  own.isBusy = true;
  try {
    const { rows, next } = await readPage(own, null);
    const known = new Set(own.rows.map(keyOf));
    // A page that ends before what was shown leaves a gap.
    const isWhole =
      next === null || (own.query.sort && own.rows.length <= rows.length) || !known.has(keyOf(rows.at(-1)));
    showRows(own, isWhole ? rows : [...own.rows, ...rows], isWhole ? next : own.next);
    if (opened.total < MAX_LIVE_TRACE_CALLS) await renderTrace(true);
  } catch (error) {
    say(error);
  } finally {
    own.isBusy = false;
  }
}

function statusText() {
  const { rows, next } = loaded;
  const { total, noun } = tables[state.table];
  const what = describe(state);
  const shown = counted(rows.length, ...noun);
  if (what !== '') {
    const rest = next === null ? '' : ' so far; load more to search the rest';
    return rows.length === 0
      ? `No match for ${what}${rest}.`
      : `${shown} ${rows.length === 1 ? 'matches' : 'match'} ${what}${rest}`;
  }
  if (rows.length === 0) return '';
  const calls = state.table === 'calls' ? ` with ${totals.calls} calls` : '';
  return next === null ? `${shown}${calls}` : `${rows.length} of ${totals[total]} ${noun[1]}${calls}`;
}

function drawList() {
  const { rows, next, paths } = loaded;
  status.textContent = statusText();
  draw(list, JSON.stringify([loaded.key, rows, paths, next, location.hash]), () => [
    ...(paths.length > 0 ? [columnChoice(paths)] : []),
    ...(rows.length > 0 ? [rowTable(columnsOf(state, rows, paths), rows)] : []),
    ...(rows.length === 0 && describe(state) === '' ? [emptyState()] : []),
    ...(next === null ? [] : [button('Load more', () => readOlder(loaded).catch(say))]),
  ]);
}

function emptyState() {
  const { noun, fill } = tables[state.table];
  const command = `SVC_BASE_URL=${location.origin} ${fill}`;
  const copied = el('span', { role: 'status' });
  const copy = () => navigator.clipboard.writeText(command).then(() => copied.replaceChildren('Copied.'));
  return el(
    'div',
    { className: 'empty' },
    el('h2', {}, `No ${noun[1]} yet.`),
    el('p', {}, 'This command stores one; it appears here:'),
    el('pre', { tabIndex: 0 }, command),
    el('p', { className: 'tools' }, button('Copy command', copy), copied),
  );
}

function rowTable(columns, rows) {
  const { id, in: project, sort = 'start' } = state.parameters;
  const isAscending = loaded.isAscending === true;
  const heads = columns.map(([name, , className = '', { chart = '', sort: by } = {}]) => {
    if (!by) return el('th', { className }, `${name} `, chart);
    const isSorted = by === sort;
    const order = isSorted && !isAscending ? 'ascending' : '';
    const sign = el('span', { ariaHidden: 'true' }, isSorted ? (isAscending ? ' ▲' : ' ▼') : ' ↕');
    const head = button(name, () => go(href(state, { sort: by === 'start' ? '' : by, order }), true));
    head.append(sign);
    head.id = `sort-${by}`;
    const ariaSort = isSorted ? (isAscending ? 'ascending' : 'descending') : 'none';
    return el('th', { className, ariaSort }, head);
  });
  const body = rows.map((row) => {
    const cells = columns.map(([title, cell, className = '']) => el('td', { className, title }, cell(row)));
    const isSelected = row.id === id && (project ?? row.project_id) === row.project_id;
    const element = el('tr', { className: isSelected ? 'selected' : '' }, cells);
    element.querySelector('.opener').id = row.trace ?? keyOf(row);
    return element;
  });
  return el('table', {}, el('thead', {}, el('tr', {}, heads)), el('tbody', {}, body));
}

function columnChoice(paths) {
  const chosen = new Set(chosenPaths(state, paths).map(({ path }) => path));
  const boxes = paths.map(({ path, type }) => {
    const onchange = () => {
      if (!chosen.delete(path)) chosen.add(path);
      go(href(state, { columns: [...chosen].join(',') || '-' }), true);
    };
    const input = el('input', { id: `column-${path}`, type: 'checkbox', checked: chosen.has(path), onchange });
    return el('label', {}, input, ` ${path} `, el('small', {}, type), ' ');
  });
  const open = list.querySelector('details')?.open === true;
  return el('details', { open }, el('summary', {}, 'Payload columns'), boxes);
}

async function renderTrace(isRefresh = false) {
  const { trace: id, in: project, id: call } = state.parameters;
  if (id === undefined) {
    byId(opened.id)?.focus();
    opened = {};
  } else if (opened.id !== id || isRefresh) {
    const { from: _, until: __, ...query } = queryOf(state);
    const page = await read('trace', { ...query, id });
    if (state.parameters.trace !== id) return;
    const back = el('p', {}, link(href(state, CLOSED), 'All traces'), el('small', {}, ` / ${id}`));
    waterfall.show(page, back);
    if (opened.id !== id) waterfall.focus();
    opened = { id, total: page.total };
  }
  waterfall.select(keyOf({ project_id: project, id: call }));
}

async function renderPanel() {
  const { id, in: project = '' } = state.parameters;
  const { with: other = '' } = state.parameters;
  const key = id && JSON.stringify([state.table, project, id, other]);
  if (key === panelKey) return;
  panelKey = key;
  closing.abort();
  closing = new AbortController();
  panel.replaceChildren();
  if (key === undefined) return;
  const record = await read('record', { table: state.table, project, id });
  if (key !== panelKey) return;
  const page = { signal: closing.signal, state, go, jobs: loaded.rows };
  const parts = record.row ? panels[state.table](record, page) : ['This record is not stored.'];
  panel.replaceChildren(link(href(state, { in: '', id: '', with: '' }), 'Close', 'close'), ...parts);
  panel.scrollTop = 0;
  markFound(panel, state.parameters.q);
}

function onKey(event) {
  const isTyping = event.target.matches('input:not([type="checkbox"]), select');
  if (event.ctrlKey || event.metaKey || event.altKey || byId('keys').open) return;
  if (isTyping && event.key === 'Escape') event.target.blur();
  const keys = { ...shortcuts, ...(event.target.role === 'tree' && waterfall.keys) };
  if (isTyping || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
}

// The next record; an open panel follows.
function move(steps) {
  if (state.parameters.trace) return waterfall.move(steps);
  const openers = [...list.querySelectorAll('.opener')];
  const at = openers.findIndex((each) => each === document.activeElement || each.closest('.selected'));
  const target = openers[Math.max(0, Math.min(openers.length - 1, at + steps))];
  target?.focus();
  target?.closest('tr').scrollIntoView({ block: 'nearest' });
  if (target && state.parameters.id) go(target.hash, true);
}
