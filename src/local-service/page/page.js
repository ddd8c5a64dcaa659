import { download, login, read } from './api.js';
import { chosenPaths, columnsOf } from './columns.js';
import { button, counted, el, link } from './dom.js';
import { panels } from './panels.js';
import { CLOSED, describe, fieldsOf, href, queryOf, readState, tables } from './state.js';
import { callKey, createWaterfall } from './waterfall.js';

const LIVE_INTERVAL_MS = 2000;
const TYPING_DELAY_MS = 250;
const MAX_LIVE_PAGES = 6;
const MAX_EMPTY_PAGES = 10;
const MAX_LIVE_TRACE_CALLS = 1000;
const MAX_COUNT = 100_000;

const byId = (id) => document.getElementById(id);
const [list, trace, panel, status, filters, live] = ['list', 'trace', 'panel', 'status', 'filters', 'live'].map(byId);
const rowKey = ({ project, project_id: projectId = project, id }) => JSON.stringify([projectId, id]);
const createdAt = (row) => row.createdAt ?? row.created_at;

let state = readState();
// What was read for the state: the rows of a list, the calls of a trace, the record of the panel. A response for another
// state is dropped.
let loaded = { rows: [] };
let opened = {};
let panelKey;
let totals = {};
let typing;

const shortcuts = {
  '/': () => filters.elements.namedItem('q').focus(),
  '?': () => byId('keys').showModal(),
  j: () => move(1),
  k: () => move(-1),
  Escape: () => {
    if (state.parameters.id) go(href(state, { in: '', id: '' }));
    else if (state.parameters.trace) go(href(state, CLOSED));
  },
};

window.addEventListener('hashchange', render);
window.setInterval(refresh, LIVE_INTERVAL_MS);
live.addEventListener('change', refresh);
document.addEventListener('keydown', onKey);
byId('help').addEventListener('click', shortcuts['?']);
byId('export').addEventListener('click', () => download({ table: state.table, ...queryOf(state) }).catch(say));
byId('skip').addEventListener('click', (event) => {
  event.preventDefault();
  byId('main').focus();
});
filters.addEventListener('submit', (event) => event.preventDefault());
filters.addEventListener('input', () => {
  window.clearTimeout(typing);
  typing = window.setTimeout(() => {
    go(href(state, { ...CLOSED, ...Object.fromEntries(new FormData(filters)) }), true);
    typing = undefined;
  }, TYPING_DELAY_MS);
});
const problem = await login();
renderNavigation();
if (problem) say(new Error(problem));
else await render();

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
  renderNavigation();
  renderFilters();
  document.body.classList.toggle('has-panel', id !== undefined);
  list.hidden = traceId !== undefined;
  trace.hidden = traceId === undefined;
  panel.hidden = id === undefined;
  await Promise.all([renderList(), renderTrace(), renderPanel()]).catch(say);
}

function renderNavigation() {
  document.title = `${tables[state.table].title} · svc`;
  const links = Object.entries(tables).map(([name, { title }]) => {
    const count = totals[name] === undefined ? '' : totals[name].toLocaleString('en');
    const anchor = link(`#${name}`, title);
    anchor.append(' ', el('small', {}, totals[name] === MAX_COUNT ? `${count}+` : count));
    if (name === state.table) anchor.setAttribute('aria-current', 'page');
    return anchor;
  });
  // A link that has the focus keeps it.
  const signature = JSON.stringify([state.table, totals]);
  if (byId('nav').dataset.drawn === signature) return;
  byId('nav').dataset.drawn = signature;
  byId('nav').replaceChildren(...links);
}

// The fields of a table are made once, so that one keeps the focus while its text changes.
function renderFilters() {
  const { q, ...others } = fieldsOf(state);
  if (filters.dataset.table !== state.table) {
    filters.dataset.table = state.table;
    const field = ([name, text]) => {
      const type = name === 'q' ? 'search' : ['from', 'until'].includes(name) ? 'datetime-local' : 'text';
      return el('label', {}, text, el('input', { name, type, autocomplete: 'off', spellcheck: false }));
    };
    const more = el('details', {}, el('summary', {}, 'Filters'), el('div', {}, Object.entries(others).map(field)));
    const clear = button('Clear', () => go(`#${state.table}`));
    filters.replaceChildren(field(['q', q]), more, clear);
  }
  for (const name of ['q', ...Object.keys(others)]) {
    const input = filters.elements.namedItem(name);
    if (typing === undefined) input.value = state.parameters[name] ?? '';
  }
  if (Object.keys(others).some((name) => state.parameters[name])) filters.querySelector('details').open = true;
  filters.querySelector('button').hidden = describe(state) === '';
}

async function renderList() {
  const key = JSON.stringify([state.table, queryOf(state)]);
  if (loaded.key === key) return drawList();
  const own = { key, table: state.table, query: queryOf(state), rows: [], paths: [], next: null };
  loaded = own;
  list.replaceChildren();
  status.textContent = 'Loading…';
  await readOlder(own);
  await readTotals();
}

async function readTotals() {
  totals = await read('totals');
  renderNavigation();
}

// A page may be empty although older rows match: the service looks at so many rows for each.
async function readOlder(own) {
  const { length } = own.rows;
  for (let pages = 0; pages < MAX_EMPTY_PAGES && own.rows.length === length; pages += 1) {
    const page = await readPage(own, own.next);
    if (own !== loaded) return;
    own.rows = merged(own.rows, page.rows);
    own.next = page.next;
    if (own.next === null) break;
  }
  await readPaths(own);
  if (own === loaded) drawList();
}

function readPage({ table, query }, before) {
  return read(table, before === null ? query : { ...query, before });
}

// Of two versions of a row, the one that was read last.
function merged(rows, more) {
  const all = new Map([...rows, ...more].map((row) => [rowKey(row), row]));
  return [...all.values()].sort((left, right) => createdAt(right) - createdAt(left));
}

async function readPaths(own) {
  const project = own.query.project ?? own.rows[0]?.project_id;
  if (own.table === 'feedback' && project !== undefined) own.paths = (await read('schema', { project })).paths;
}

// Live says why no new record can appear.
function pauseReason() {
  if (!live.checked) return ' (off)';
  return state.parameters.until ? ' (paused: the time range has an end)' : '';
}

// Reads from the newest row on until those that were shown; after too many, the list starts again.
async function refresh() {
  const own = loaded;
  live.nextSibling.textContent = ` Live${pauseReason()}`;
  if (pauseReason() !== '' || document.hidden || own.key === undefined || own.isBusy) return;
  own.isBusy = true;
  try {
    const newest = own.rows[0] ? createdAt(own.rows[0]) : 0;
    const rows = [];
    let before = null;
    for (let pages = 0; pages === 0 || (before !== null && JSON.parse(before)[0] >= newest); pages += 1) {
      if (pages === MAX_LIVE_PAGES) {
        own.rows = [];
        own.next = before;
        break;
      }
      const page = await readPage(own, before);
      rows.push(...page.rows);
      before = page.next;
    }
    own.rows = merged(own.rows, rows);
    await readPaths(own);
    await readTotals();
    if (own === loaded) drawList();
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
  const signature = JSON.stringify([loaded.key, rows, paths, next, location.hash]);
  if (list.dataset.drawn === signature) return;
  list.dataset.drawn = signature;
  const focused = document.activeElement?.closest('#list tr')?.dataset.key;
  const isChoosing = list.querySelector('details')?.open === true;
  const columns = columnsOf(state, rows, paths);
  const heads = columns.map(([name, , className = '', chart = '']) =>
    el('th', { scope: 'col', className }, name, chart),
  );
  const body = rows.map((row) => {
    const element = el('tr', { className: isSelected(row) ? 'selected' : '' });
    element.dataset.key = rowKey(row);
    for (const [name, cell, className = ''] of columns) {
      const td = el('td', { className }, cell(row));
      td.dataset.name = name;
      element.append(td);
    }
    return element;
  });
  list.replaceChildren(
    ...(paths.length > 0 ? [columnChoice(paths, isChoosing)] : []),
    ...(rows.length > 0 ? [el('table', {}, el('thead', {}, el('tr', {}, heads)), el('tbody', {}, body))] : []),
    ...(next === null ? [] : [button('Load older records', () => readOlder(loaded).catch(say))]),
  );
  if (focused)
    body
      .find(({ dataset }) => dataset.key === focused)
      ?.querySelector('.opener')
      .focus();
}

function isSelected(row) {
  const { id, in: project } = state.parameters;
  return row.id === id && (project === undefined || (row.project_id ?? row.project) === project);
}

function columnChoice(paths, open) {
  const chosen = new Set(chosenPaths(state, paths).map(({ path }) => path));
  const boxes = paths.map(({ path, type }) => {
    const onchange = () => {
      if (!chosen.delete(path)) chosen.add(path);
      go(href(state, { columns: [...chosen].join(',') || '-' }), true);
      byId(`column-${path}`)?.focus();
    };
    const input = el('input', { id: `column-${path}`, type: 'checkbox', checked: chosen.has(path), onchange });
    return el('label', {}, input, ` ${path} `, el('small', {}, type), ' ');
  });
  return el('details', { open }, el('summary', {}, 'Payload columns'), boxes);
}

async function renderTrace(isRefresh = false) {
  const { trace: id, in: project, id: call } = state.parameters;
  if (id === undefined) {
    opened = {};
    return trace.replaceChildren();
  }
  if (opened.id !== id || isRefresh) {
    const page = await read('trace', { id });
    if (state.parameters.trace !== id) return;
    const text = JSON.stringify(page);
    if (opened.id === id && opened.text === text) return;
    const hasFocus = opened.id !== id || trace.contains(document.activeElement);
    const scrolled = opened.id === id ? trace.querySelector('.tree')?.scrollTop : 0;
    // The first selection adds to the history, the next ones replace it.
    const select = (next) => go(href(state, { in: next.project, id: next.id }), state.parameters.id !== undefined);
    opened = { id, text, total: page.total, waterfall: createWaterfall(page, select) };
    const back = el('p', {}, link(href(state, CLOSED), 'All traces'), el('small', {}, ` / trace ${id}`));
    const none = page.total === 0 ? ['No call of this trace is stored.'] : opened.waterfall.elements;
    trace.replaceChildren(back, ...none);
    if (hasFocus) opened.waterfall.focus();
    trace.querySelector('.tree')?.scrollTo(0, scrolled);
  }
  opened.waterfall.select(callKey({ project, id: call }));
}

async function renderPanel() {
  const { id, in: project = '' } = state.parameters;
  const key = id && JSON.stringify([state.table, project, id]);
  if (key === panelKey) return;
  panelKey = key;
  panel.replaceChildren();
  if (key === undefined) return;
  const record = await read('record', { table: state.table, project, id });
  const isCurrent = () => key === panelKey;
  if (!isCurrent()) return;
  const parts = record.row ? await panels[state.table](record, isCurrent) : ['This record is not stored.'];
  panel.replaceChildren(link(href(state, { in: '', id: '' }), 'Close', 'close'), ...parts);
}

function onKey(event) {
  const isTyping = event.target.matches('input:not([type="checkbox"])');
  if (event.ctrlKey || event.metaKey || event.altKey || byId('keys').open) return;
  if (isTyping && event.key === 'Escape') event.target.blur();
  if (isTyping || !Object.hasOwn(shortcuts, event.key)) return;
  event.preventDefault();
  shortcuts[event.key]();
}

// The next record; an open panel follows.
function move(steps) {
  if (state.parameters.trace) return opened.waterfall?.move(steps);
  const openers = [...list.querySelectorAll('.opener')];
  const at = openers.findIndex((each) => each === document.activeElement || each.closest('.selected'));
  const target = openers[Math.max(0, Math.min(openers.length - 1, at + steps))];
  target?.focus();
  if (target && state.parameters.id) go(target.hash, true);
}
