// The page of svc serve. Everything stored is hostile text: it is shown with textContent only, never as markup.
const LIVE_INTERVAL_MS = 2000;
const SEARCH_DELAY_MS = 250;
const MAX_NEW_ROWS = 1000;
const MAX_BINS = 12;
const MAX_TITLE_CHARS = 120;
const MAX_RAW_CHARS = 200_000;

const byId = (id) => document.getElementById(id);
const [list, extra, status, more, search, live] = ['list', 'extra', 'status', 'more', 'search', 'live'].map(byId);
const titles = { calls: 'Calls', feedback: 'Feedback', jobs: 'Training jobs', chats: 'Chats' };

let table = 'calls';
// A new object for each view, so that a late response of an earlier one is dropped.
let view = {};

// The link that skips the navigation changes the hash, too.
window.addEventListener('hashchange', () => {
  if (location.hash === '' || Object.hasOwn(titles, location.hash.slice(1))) open();
});
search.addEventListener('input', debounce(open, SEARCH_DELAY_MS));
more.addEventListener('click', () => loadOlder(view));
window.setInterval(() => {
  if (live.checked && !document.hidden && search.value === '') loadNewer(view);
}, LIVE_INTERVAL_MS);
open();

function open() {
  const wanted = location.hash.slice(1);
  table = Object.hasOwn(titles, wanted) ? wanted : 'calls';
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#${table}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  byId('title').textContent = titles[table];
  byId('export').href = `/page/export?${new URLSearchParams({ table, q: search.value })}`;
  list.replaceChildren();
  extra.replaceChildren();
  more.hidden = true;
  view = { table, q: search.value, before: null, shown: new Map(), items: new Map(), projects: new Set() };
  loadOlder(view);
}

async function loadOlder(own) {
  const page = await read(own.table, { q: own.q, ...(own.before === null ? {} : { before: own.before }) }, own);
  if (!page || own !== view) return;
  own.before = page.next;
  for (const row of page.rows) show(row, own, false);
  more.hidden = page.next === null;
  const count = list.childElementCount;
  const rest = page.next === null ? '' : own.q === '' ? ', and older ones' : ' so far; load older records to search on';
  status.textContent = count === 0 && rest === '' ? 'No records.' : `${count} shown${rest}`;
}

// Reads on until a row that is shown as it is.
async function loadNewer(own) {
  const fresh = [];
  for (let before = null, isKnown = false; !isKnown; ) {
    const page = await read(own.table, before === null ? {} : { before }, own);
    if (!page || own !== view) return;
    const isShown = (row) => own.shown.get(rowKey(row)) === JSON.stringify(row);
    fresh.push(...page.rows.filter((row) => !isShown(row)));
    before = page.next;
    isKnown = before === null || page.rows.some(isShown);
    if (fresh.length > MAX_NEW_ROWS) return open();
  }
  for (const row of fresh.reverse()) show(row, own, true);
  if (fresh.length > 0) status.textContent = `${list.childElementCount} shown${more.hidden ? '' : ', and older ones'}`;
}

async function read(name, parameters, own) {
  try {
    const response = await fetch(`/page/${name}?${new URLSearchParams(parameters)}`);
    if (response.ok) return await response.json();
    const hint = response.status === 401 ? ': reload the page, and enter the user name and password of svc serve' : '';
    if (own === view) status.textContent = `The service responded ${response.status}${hint}.`;
  } catch {
    if (own === view) status.textContent = 'The service does not respond.';
  }
  return undefined;
}

function rowKey({ project_id: project, id }) {
  return JSON.stringify([project, id]);
}

// A row that was shown before takes the place of its earlier version.
function show(row, own, isNewest) {
  const key = rowKey(row);
  const earlier = own.items.get(key);
  if (earlier && own.shown.get(key) === JSON.stringify(row)) return;
  own.shown.set(key, JSON.stringify(row));
  const place = (element) => {
    own.items.set(key, element);
    if (!earlier) return isNewest ? list.prepend(element) : list.append(element);
    element.firstChild.open = earlier.firstChild.open;
    earlier.replaceWith(element);
  };
  if (own.table === 'calls') showTrace(row, own, place);
  else if (own.table === 'feedback') showFeedback(row, own, place);
  else if (own.table === 'jobs') place(record([row.id, row.model_id], row, () => jobDetails(row)));
  else place(record([chatTitle(row), row.status === 200 ? '' : String(row.status)], row, () => chatDetails(row)));
}

// One item per trace; its tree is read when it is opened.
function showTrace(row, own, place) {
  own.traces ??= new Map();
  const known = own.traces.get(row.trace_id);
  if (known) {
    known.calls.add(rowKey(row));
    known.note.textContent = known.calls.size === 1 ? '' : `${known.calls.size} calls loaded`;
    own.items.set(rowKey(row), known.item);
    if (known.item.firstChild.open) known.item.fill();
    return;
  }
  const name = parse(row.start)?.op_name;
  const item = record([String(name ?? row.id), row.project_id], row, () => traceDetails(row));
  const note = el('span', { className: 'soft' });
  item.querySelector('summary').append(' ', note);
  own.traces.set(row.trace_id, { item, note, calls: new Set([rowKey(row)]) });
  place(item);
}

async function traceDetails(row) {
  const { rows = [row], total = 1 } = (await read('trace', { id: row.trace_id }, view)) ?? {};
  const nodes = new Map(rows.map((call) => [call.id, { call, start: parse(call.start) ?? {}, children: [] }]));
  const roots = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.start.parent_id);
    if (parent && !isWithin(parent, node, nodes)) parent.children.push(node);
    else roots.push(node);
  }
  return [
    el('p', { className: 'soft' }, `trace ${row.trace_id}, ${firstOf(rows.length, total, 'call', 'calls')}`),
    callTree(roots),
  ];
}

// Calls may name each other as parents.
function isWithin(parent, node, nodes) {
  const seen = new Set();
  for (let at = parent; at && !seen.has(at); at = nodes.get(at.start.parent_id)) {
    if (at === node) return true;
    seen.add(at);
  }
  return false;
}

function callTree(nodes) {
  return el(
    'ul',
    {},
    ...nodes.map(({ call, start, children }) => {
      const summary = [String(start.display_name ?? start.op_name ?? call.id), String(start.started_at ?? '')];
      return el(
        'li',
        {},
        record(summary, call, () => [raw(call.start)]).firstChild,
        ...(children.length > 0 ? [callTree(children)] : []),
      );
    }),
  );
}

function showFeedback(row, own, place) {
  place(record([row.feedback_type, row.trigger_ref ?? ''], row, () => [raw(row.record)]));
  if (own.projects.has(row.project_id)) return;
  own.projects.add(row.project_id);
  const schema = record([`Schema of the payloads in ${row.project_id}`], undefined, async () => {
    const { paths = [] } = (await read('schema', { project: row.project_id }, own)) ?? {};
    if (paths.length === 0) return [el('p', {}, 'No fields.')];
    return [
      tableOf(
        ['path', 'type'],
        paths.map(({ path, type }) => [path, type]),
      ),
    ];
  });
  extra.append(schema.firstChild);
}

async function jobDetails(row) {
  const page = await read('rewards', { job: row.id }, view);
  const config = row.experimental_config === null ? [] : [el('h3', {}, 'Configuration'), raw(row.experimental_config)];
  if (!page) return [el('p', {}, 'The rewards could not be read.'), ...config];
  const { rewards, read: readCount, total } = page;
  if (rewards.length === 0) return [el('p', {}, 'No rewards.'), ...config];
  const values = rewards.map(([, reward]) => reward);
  const groups = new Set(rewards.map(([group]) => group)).size;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const trajectories = firstOf(readCount, total, 'trajectory', 'trajectories');
  const facts = `${trajectories}; ${counted(values.length, 'reward', 'rewards')} in ${counted(groups, 'group', 'groups')}, from ${short(low)} to ${short(high)}, mean ${short(mean)}`;
  return [el('p', {}, facts), el('h3', {}, 'Rewards'), histogram(values, low, high), ...config];
}

function histogram(values, low, high) {
  const count = low === high ? 1 : Math.min(MAX_BINS, new Set(values).size);
  const width = (high - low) / count;
  const bins = Array.from({ length: count }, () => 0);
  for (const value of values) bins[width === 0 ? 0 : Math.min(count - 1, Math.floor((value - low) / width))] += 1;
  const highest = Math.max(...bins);
  const rows = bins.map((size, at) => {
    const range = width === 0 ? short(low) : `${short(low + at * width)} to ${short(low + (at + 1) * width)}`;
    return [
      range,
      el('meter', { value: size / highest, ariaLabel: counted(size, 'trajectory', 'trajectories') }),
      String(size),
    ];
  });
  return tableOf(['reward', 'share', 'trajectories'], rows);
}

function chatTitle({ request }) {
  const messages = parse(request)?.messages;
  const user = Array.isArray(messages) ? messages.findLast((message) => message?.role === 'user') : undefined;
  return contentText(user?.content) || 'chat';
}

function chatDetails({ request, response }) {
  const messages = parse(request)?.messages;
  const sent = (Array.isArray(messages) ? messages : []).map((message) => messageArticle(message));
  const received = responseMessages(response).map((message) => messageArticle(message));
  const bodies = record(['Request and response'], undefined, () => [raw(request), raw(response)]).firstChild;
  return [...sent, ...received, bodies];
}

function messageArticle(message) {
  const role = String(message?.role ?? 'message');
  const calls = Array.isArray(message?.tool_calls)
    ? message.tool_calls.map((call) => `\n${JSON.stringify(call?.function ?? call)}`)
    : [];
  const reasoning = message?.reasoning ? [el('p', { className: 'soft' }, String(message.reasoning))] : [];
  const className = role === 'assistant' ? 'assistant' : '';
  return el('article', { className }, el('h3', {}, role), ...reasoning, contentText(message?.content) + calls.join(''));
}

// The messages of a response, joined from its events if it was streamed.
function responseMessages(response) {
  if (/^\s*\{/.test(response) || !/^data:/m.test(response)) {
    const { choices, error } = parse(response) ?? {};
    if (error) return [{ role: 'error', content: String(error.message ?? JSON.stringify(error)) }];
    return (Array.isArray(choices) ? choices : []).map((choice) => choice?.message);
  }
  const joined = new Map();
  for (const [, text] of response.matchAll(/^data: ?(\{.*)$/gm)) {
    const { choices } = parse(text) ?? {};
    for (const { index, delta } of Array.isArray(choices) ? choices : []) {
      const message = joined.get(index) ?? { role: 'assistant', content: '', reasoning: '', tool_calls: [] };
      joined.set(index, message);
      message.content += contentText(delta?.content);
      message.reasoning += String(delta?.reasoning ?? delta?.reasoning_content ?? '');
      for (const call of Array.isArray(delta?.tool_calls) ? delta.tool_calls : [])
        joinToolCall(message.tool_calls, call);
    }
  }
  return [...joined.values()];
}

// Servers name a call once and send its arguments in parts.
function joinToolCall(calls, { index, function: part }) {
  const call = calls.find((one) => one.index === index) ?? { index, function: { name: '', arguments: '' } };
  if (!calls.includes(call)) calls.push(call);
  call.function.name += String(part?.name ?? '');
  call.function.arguments += String(part?.arguments ?? '');
}

function contentText(content) {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return content ? JSON.stringify(content) : '';
  return content.map((part) => (typeof part?.text === 'string' ? part.text : `[${part?.type ?? 'part'}]`)).join('\n');
}

// An item that opens; what it holds is made when it is opened for the first time, or filled again. Without a row it may
// change, and is made each time.
function record(title, row, details) {
  const [name = '', ...notes] = title.map((text) => cut(String(text)));
  const time = row
    ? [el('time', { className: 'soft', dateTime: isoTime(row) }, new Date(row.created_at).toLocaleString())]
    : [];
  const summary = el(
    'summary',
    {},
    el('b', {}, name),
    ...notes.flatMap((note) => (note ? [el('span', { className: 'soft' }, note), ' '] : [])),
    ...time,
  );
  const body = el('div');
  const box = el('details', {}, summary, body);
  const item = el('li', {}, box);
  if (row) box.dataset.key = rowKey(row);
  item.fill = async () => {
    const children = await details();
    const opened = new Set(Array.from(body.querySelectorAll('details[open]'), ({ dataset }) => dataset.key));
    body.replaceChildren(...children);
    for (const inner of body.querySelectorAll('details')) inner.open = opened.has(inner.dataset.key);
  };
  box.addEventListener('toggle', () => {
    if (box.open && (!row || body.childElementCount === 0)) item.fill();
  });
  return item;
}

function isoTime({ created_at: time }) {
  return new Date(time).toISOString();
}

function tableOf(headings, rows) {
  const head = el('tr', {}, ...headings.map((text) => el('th', { scope: 'col' }, text)));
  const body = rows.map((cells) => el('tr', {}, ...cells.map((cell) => el('td', {}, cell))));
  return el('table', {}, el('thead', {}, head), el('tbody', {}, ...body));
}

function raw(text) {
  const note = text.length > MAX_RAW_CHARS ? '\n… (use Export for all of it)' : '';
  return el('pre', { tabIndex: 0 }, indented(text.slice(0, MAX_RAW_CHARS)) + note);
}

// JSON text with line breaks, every digit kept; other text as it is.
function indented(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  let depth = 0;
  const newLine = () => `\n${'  '.repeat(Math.max(0, Math.min(depth, 40)))}`;
  return text.replace(/"(?:[^"\\]|\\.)*"?|[[{]\s*[\]}]|[[\]{},:]|\s+/g, (token) => {
    if (token[0] === '"') return token;
    if (/^\s/.test(token)) return '';
    if (token.length > 1) return token[0] + token.at(-1);
    if (token === ':') return ': ';
    if (token === ',') return `,${newLine()}`;
    depth += token === '{' || token === '[' ? 1 : -1;
    return token === '{' || token === '[' ? token + newLine() : newLine() + token;
  });
}

// For finding names and texts only; what is shown of numbers is the text itself.
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function short(number) {
  return String(Number(number.toPrecision(4)));
}

function counted(count, one, many) {
  return `${count} ${count === 1 ? one : many}`;
}

function firstOf(shown, total, one, many) {
  return shown < total ? `the first ${shown} of ${counted(total, one, many)}` : counted(shown, one, many);
}

function cut(text) {
  return text.length > MAX_TITLE_CHARS ? `${text.slice(0, MAX_TITLE_CHARS)}…` : text;
}

function debounce(action, milliseconds) {
  let timer;
  return () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(action, milliseconds);
  };
}

// Children that are text become text nodes.
function el(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}
