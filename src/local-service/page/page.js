import { download, login, read } from './api.js';
import { button, counted, draw, el, link } from './dom.js';
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
  Escape: () => go(href(state, state.parameters.id ? { in: '', id: '' } : CLOSED)),
};

window.addEventListener('hashchange', render);
window.setInterval(refresh, LIVE_INTERVAL_MS);
live.addEventListener('change', refresh);
document.addEventListener('keydown', onKey);
byId('help').addEventListener('click', shortcuts['?']);
byId('export').addEventListener('click', () => download({ table: state.table, ...queryOf(state) }).catch(say));
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
  status.textContent = message;
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
  document.body.classList.toggle('has-panel', id !== undefined);
  list.hidden = traceId !== undefined;
  trace.hidden = !list.hidden;
  panel.hidden = id === undefined;
  await Promise.all([renderList(), renderTrace(), renderPanel()]).catch(say);
}

function drawNavigation() {
  document.title = `${tables[state.table].title} · svc`;
  draw(byId('nav'), JSON.stringify([state.table, totals]), () =>
    Object.entries(tables).map(([name, { title }]) => {
      const ariaCurrent = name === state.table ? 'page' : null;
      return el(
        'a',
        { id: `table-${name}`, href: `#${name}`, ariaCurrent },
        `${title} `,
        el('small', {}, totals[name] ?? ''),
      );
    }),
  );
}

// The fields of a table are made once, so that one keeps the focus while its text changes.
function drawFilters() {
  const fields = fieldsOf(state);
  draw(filters, state.table, () => {
    const [search, ...others] = fields.map(({ name, label }) => {
      const type = name === 'q' ? 'search' : ['from', 'until'].includes(name) ? 'datetime-local' : 'text';
      return el('label', {}, label, el('input', { name, type, autocomplete: 'off', spellcheck: false }));
    });
    const more = el('details', {}, el('summary', {}, 'Filters'), el('div', {}, others));
    return [search, more, button('Clear', () => go(`#${state.table}`))];
  });
  for (const { name, value } of fields) if (typing === undefined) filters.elements.namedItem(name).value = value;
  if (fields.some(({ name, value }) => name !== 'q' && value)) filters.querySelector('details').open = true;
  filters.querySelector('button').hidden = describe(state) === '';
}

async function renderList() {
  const key = JSON.stringify([state.table, queryOf(state)]);
  if (loaded.key === key) return drawList();
  loaded = { key, table: state.table, query: queryOf(state), rows: [], paths: [], next: null };
  draw(list, key, () => []);
  status.textContent = 'Loading…';
  await readOlder(loaded);
}

async function readPage(own, before) {
  const page = await read(own.table, before === null ? own.query : { ...own.query, before });
  if (before === null) own.paths = page.paths;
  totals = page.totals;
  drawNavigation();
  return page;
}

// Of two versions of a row, the one that was read last.
function showRows(own, rows, next) {
  const all = new Map(rows.map((row) => [keyOf(row), row]));
  Object.assign(own, { rows: [...all.values()].sort((left, right) => right.created_at - left.created_at), next });
  if (own === loaded) drawList();
}

async function readOlder(own) {
  const { rows, next } = await readPage(own, own.next);
  showRows(own, [...own.rows, ...rows], next);
}

// Adds the newest rows to those that were shown; if more than a page is new, the list starts again.
async function refresh() {
  const own = loaded;
  const pause = !live.checked ? ' (off)' : state.parameters.until ? ' (paused: the time range has an end)' : '';
  live.nextSibling.textContent = ` Live${pause}`;
  if (pause || document.hidden || own.key === undefined || own.isBusy) return;
  own.isBusy = true;
  try {
    const { rows, next } = await readPage(own, null);
    const known = new Set(own.rows.map(keyOf));
    if (next !== null && !rows.some((row) => known.has(keyOf(row)))) showRows(own, rows, next);
    else showRows(own, [...own.rows, ...rows], own.next);
    if (opened.total < MAX_LIVE_TRACE_CALLS) await renderTrace(true);
  } catch (error) {
    say(error);
  } finally {
    own.isBusy = false;
  }
}

function statusText() {
  const { rows, next } = loaded;
  const { title, noun } = tables[state.table];
  const what = describe(state);
  const oldest = next === null ? '' : new Date(JSON.parse(next)[0]).toLocaleString();
  if (rows.length === 0 && what === '') return `No ${noun[1]} yet.`;
  const searched = oldest ? `searched back to ${oldest}` : `all ${title.toLowerCase()} were searched`;
  if (rows.length === 0) return `No match for ${what}; ${searched}.`;
  const nouns = state.parameters.q || state.parameters.op ? ['match', 'matches'] : noun;
  return `${counted(rows.length, ...nouns)}${what && ` for ${what}`}${oldest && `; load older ones to go back beyond ${oldest}`}`;
}

function drawList() {
  const { rows, next, paths } = loaded;
  status.textContent = statusText();
  draw(list, JSON.stringify([loaded.key, rows, paths, next, location.hash]), () => [
    ...(paths.length > 0 ? [columnChoice(paths)] : []),
    ...(rows.length > 0 ? [rowTable(columnsOf(state, rows, paths), rows)] : []),
    ...(next === null ? [] : [button('Load older records', () => readOlder(loaded).catch(say))]),
  ]);
}

function rowTable(columns, rows) {
  const heads = columns.map(([name, , className = '', chart = '']) => el('th', { className }, `${name} `, chart));
  const { id, in: project } = state.parameters;
  const body = rows.map((row) => {
    const cells = columns.map(([title, cell, className = '']) => el('td', { className, title }, cell(row)));
    const isSelected = row.id === id && (project ?? row.project_id) === row.project_id;
    const element = el('tr', { className: isSelected ? 'selected' : '' }, cells);
    element.querySelector('.opener').id = keyOf(row);
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
  if (id === undefined) opened = {};
  else if (opened.id !== id || isRefresh) {
    const page = await read('trace', { id });
    if (state.parameters.trace !== id) return;
    const back = el('p', {}, link(href(state, CLOSED), 'All traces'), el('small', {}, ` / trace ${id}`));
    waterfall.show(page, back);
    if (opened.id !== id) waterfall.focus();
    opened = { id, total: page.total };
  }
  waterfall.select(keyOf({ project_id: project, id: call }));
}

async function renderPanel() {
  const { id, in: project = '' } = state.parameters;
  const key = id && JSON.stringify([state.table, project, id]);
  if (key === panelKey) return;
  panelKey = key;
  closing.abort();
  closing = new AbortController();
  panel.replaceChildren();
  if (key === undefined) return;
  const record = await read('record', { table: state.table, project, id });
  if (key !== panelKey) return;
  const parts = record.row ? panels[state.table](record, closing.signal) : ['This record is not stored.'];
  panel.replaceChildren(link(href(state, { in: '', id: '' }), 'Close', 'close'), ...parts);
}

function onKey(event) {
  const isTyping = event.target.matches('input:not([type="checkbox"])');
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
  if (target && state.parameters.id) go(target.hash, true);
}
