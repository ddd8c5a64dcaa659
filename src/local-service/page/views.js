import { reasoningNames } from '../../operations/reasoning-names.ts';
import { read } from './api.js';
import { badge, counted, duration, el, elementOf, failedBadge, link, short, sparkline, time } from './dom.js';
import { copyButtons, jsonView, nodeAt, parseTree, textAt } from './json.js';
import { CLOSED, href } from './state.js';

const BASIC = '-u "$SVC_USERNAME:$SVC_PASSWORD"';
const BEARER = '-H "Authorization: Bearer $SVC_TOKEN"';
const MAX_PAYLOAD_COLUMNS = 5;
const MAX_BADGES = 2;
const MAX_MATCHES = 3;
const MAX_BARS = 20;

/** The columns of a table: a name, the cell of a row, a class, and a chart of the values. */
export function columnsOf(state, rows, paths) {
  const opener = (changes, text) => link(href(state, { ...CLOSED, ...changes }), text || '(no name)', 'opener');
  const filter = (label, name, column = name) => [
    label,
    ({ [column]: value }) => (value ? link(href(state, { ...CLOSED, [name]: value }), value, 'filter') : ''),
  ];
  const longest = Math.max(...rows.map((row) => row.durationMs ?? 0));
  return {
    calls: () => [
      ['Trace', (row) => traceCell(row, state, opener), 'main'],
      filter('Project', 'project', 'project_id'),
      ['Started', (row) => time(row.startedMs), '', { sort: 'start' }],
      ['Calls', (row) => row.calls.toLocaleString('en'), 'number'],
      ['Duration', (row) => durationCell(row, longest), 'number', { sort: 'duration' }],
      ['Failures', ({ failed }) => (failed > 0 ? failedBadge(failed) : ''), '', { sort: 'failures' }],
      ['Feedback', feedbackBadges],
    ],
    feedback: () => [
      ['Type', (row) => opener({ in: row.project_id, id: row.id }, row.feedback_type), 'main'],
      ['Time', (row) => time(row.created_at)],
      ...chosenPaths(state, paths).map(({ path, type }) => payloadColumn(path, type, rows)),
      filter('Project', 'project', 'project_id'),
      ...(rows.some((row) => row.trigger_ref) ? [filter('Trigger', 'trigger', 'trigger_ref')] : []),
      filter('Creator', 'user', 'svc_user_id'),
    ],
    jobs: () => [
      ['Name', (row) => opener({ id: row.id, with: '' }, jobName(row)), 'main'],
      ['Id', (row) => row.id, 'id'],
      ['Time', (row) => time(row.created_at)],
      ...['groups', 'without signal', 'rewards', 'mean'].map(rewardColumn),
      ['Distribution', rewardsChart],
      filter('Model', 'model', 'model_id'),
    ],
    chats: () => [
      ['Question', (row) => opener({ id: row.id }, row.title || '(no question)'), 'main'],
      filter('Model', 'model'),
      ['Time', (row) => time(row.created_at)],
      ['Latency', (row) => latency(row.durationMs), 'number'],
      ['Tokens', (row) => (row.promptTokens === null ? '' : `${row.promptTokens} + ${row.completionTokens}`), 'number'],
      ['Finish', (row) => (row.status === 200 && !row.error ? row.finish : failedBadge(row.error || row.status))],
    ],
  }[state.table]();
}

// A trace is named by its root. A search opens it at the first call that matches.
function traceCell({ trace, name, op, calls, matches }, state, opener) {
  const to = (call) => ({ trace, in: call?.project_id, id: call?.id });
  const notes = el('small', {}, op === name ? '' : ` ${op}`);
  if (matches.length > 0 && calls > 1) {
    notes.append(` ${counted(matches.length, `of ${calls} calls matches`, `of ${calls} calls match`)}: `);
    const links = matches.slice(0, MAX_MATCHES).map((call) => link(href(state, to(call)), call.name, 'filter'));
    notes.append(...links.flatMap((each, at) => (at === 0 ? [each] : [', ', each])));
    if (matches.length > MAX_MATCHES) notes.append(', …');
  }
  return [opener(to(matches[0]), name), notes];
}

// Counted in whole milliseconds.
function latency(ms) {
  return ms === 0 ? '<1 ms' : duration(ms);
}

// With a bar beside it, on one scale for all rows.
function durationCell({ durationMs }, longest) {
  if (durationMs === null) return el('span', { className: 'no-end' }, '◌ no end');
  const share = el('span', { style: { width: `${(durationMs / (longest || 1)) * 100}%` } });
  return [duration(durationMs), el('span', { className: 'share' }, share)];
}

function feedbackBadges({ feedback }) {
  const more = feedback.length > MAX_BADGES ? [el('small', {}, `+${feedback.length - MAX_BADGES}`)] : [];
  return [...feedback.slice(0, MAX_BADGES).map((text) => badge(text)), ...more].flatMap((each) => [each, ' ']);
}

/** The paths that are columns: those of the URL, else numbers and booleans first. */
export function chosenPaths({ parameters: { columns } }, paths) {
  if (columns === undefined) return paths.slice(0, MAX_PAYLOAD_COLUMNS);
  return paths.filter(({ path }) => columns.split(',').includes(path));
}

function payloadColumn(path, type, rows) {
  const cell = (row) => textAt(parseTree(row.record), `payload.${path}`);
  if (type !== 'numeric') return [path, cell, type === 'boolean' ? '' : 'text'];
  const values = rows.map(cell).filter((text) => text && Number.isFinite(Number(text)));
  return [path, cell, 'number', { chart: values.length > 1 ? valuesChart(path, values) : '' }];
}

// The limits are texts of cells, with every digit.
function valuesChart(path, values) {
  const sorted = values.toSorted((left, right) => left - right);
  const [low, high] = [sorted[0], sorted.at(-1)];
  const counts = Array.from({ length: low === high ? 1 : Math.min(MAX_BARS, new Set(values).size) }, () => 0);
  // Halves, because the difference of two doubles can exceed the range of a double.
  const share = (value) => (value / 2 - low / 2) / (high / 2 - low / 2 || 1);
  for (const value of values) counts[Math.min(counts.length - 1, Math.floor(share(value) * counts.length))] += 1;
  return sparkline(counts, `${path}: ${counted(values.length, 'value', 'values')} in the rows below`, low, high);
}

// What the service has counted when it stored the job; null for jobs of an older svc.
function rewardColumn(name) {
  const cell = ({ rewards }) => {
    const value = JSON.parse(rewards)?.[name] ?? '';
    return name === 'mean' && value !== '' ? short(value) : value.toLocaleString('en');
  };
  return [name[0].toUpperCase() + name.slice(1), cell, 'number'];
}

function rewardsChart({ rewards }) {
  const { bars = [] } = JSON.parse(rewards) ?? {};
  const [low, high] = ['min', 'max'].map((name) => textAt(parseTree(rewards ?? ''), name));
  return bars.length > 0 ? sparkline(bars, 'Trajectories by reward', low, high) : '';
}

export const panels = { calls: callPanel, feedback: feedbackPanel, jobs: jobPanel, chats: chatPanel };

function section(title, ...children) {
  return el('section', {}, el('h3', {}, title), ...children);
}

// Names and values; those without a value are left out.
function factList(facts) {
  const shown = Object.entries(facts).filter(([, value]) => value);
  const pairs = shown.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]);
  return el('dl', {}, pairs);
}

function linkTo(table, parameters, text) {
  return link(href({ table, parameters }), text);
}

function callPanel({ row, feedback }) {
  const tree = parseTree(row.start);
  const part = (title, name) => {
    const node = nodeAt(tree, name);
    return node?.items?.length > 0 ? [section(title, jsonView(node.text))] : [];
  };
  const names = ['op_name', 'id', 'parent_id', 'svc_run_id', 'svc_user_id'];
  const error = textAt(tree, 'otel_dump.status.message');
  return [
    el('h2', {}, row.name || row.id),
    factList({
      started: time(textAt(tree, 'started_at') || row.created_at, 23),
      duration: row.duration_ms === null ? '◌ no end' : duration(row.duration_ms),
      status: row.failed > 0 && [failedBadge('failed'), error && ` ${error}`].filter(Boolean),
      project: linkTo('calls', { project: row.project_id }, row.project_id),
      trace_id: linkTo('calls', { trace: row.trace_id }, row.trace_id),
      ...Object.fromEntries(names.map((name) => [name, textAt(tree, name)])),
    }),
    ...(feedback.length > 0 ? [section('Feedback', feedback.map(feedbackArticle))] : []),
    ...part('Inputs', 'inputs'),
    ...part('Attributes', 'attributes'),
    section('Stored JSON', jsonView(row.start)),
    copyButtons('/call/start', 'call start', `{"start":${row.start}}`, BASIC),
  ];
}

function feedbackArticle(row) {
  const where = linkTo('feedback', { in: row.project_id, id: row.id }, row.feedback_type);
  const payload = nodeAt(parseTree(row.record), 'payload')?.text ?? row.record;
  return el('article', {}, el('div', { className: 'about' }, where, ' ', time(row.created_at)), jsonView(payload));
}

function feedbackPanel({ row }) {
  const ref = textAt(parseTree(row.record), 'svc_ref');
  const [, project, id] = /^svc:\/\/\/(.+)\/call\/([^/]+)$/.exec(ref) ?? [];
  return [
    el('h2', {}, row.feedback_type),
    factList({
      time: time(row.created_at),
      about: project ? linkTo('calls', { in: project, id }, ref) : ref,
      project: row.project_id,
      trigger: row.trigger_ref,
      creator: row.svc_user_id,
      id: row.id,
    }),
    section('Stored JSON', jsonView(row.record)),
    copyButtons('/feedback/replace', 'feedback replace', row.record, BASIC),
  ];
}

// The name that the configuration of a job gives, if it gives one.
function jobName({ experimental_config: config }) {
  return textAt(parseTree(config ?? ''), 'name');
}

function jobPanel({ row }, { signal, state, jobs, go }) {
  const { with: other = '' } = state.parameters;
  const { trajectories = 'all' } = JSON.parse(row.rewards) ?? {};
  const status = el('p', { role: 'status' }, `Checking ${trajectories.toLocaleString('en')} trajectories…`);
  const report = el('div', { className: 'report' }, status);
  read('lint', other ? { job: row.id, with: other } : { job: row.id }, 'json', signal).then(
    (markup) => report.replaceChildren(...markup.map((each) => elementOf(each))),
    ({ message }) => status.replaceChildren(message),
  );
  const others = jobs.filter(({ id }) => id !== row.id);
  const choices = [['', 'no other job'], ...others.map((job) => [job.id, `${jobName(job)} ${job.id}`.trim()])];
  if (other && !others.some(({ id }) => id === other)) choices.push([other, other]);
  const options = choices.map(([value, text]) => el('option', { value, selected: value === other }, text));
  const onchange = ({ target }) => go(href(state, { with: target.value }));
  const config = row.experimental_config;
  return [
    el('h2', {}, jobName(row) || 'Training job'),
    factList({ id: row.id, time: time(row.created_at), model: row.model_id }),
    el('label', { className: 'compare' }, 'Compare with ', el('select', { onchange, id: 'compare' }, options)),
    report,
    ...(config === null || other ? [] : [section('Configuration', jsonView(config))]),
  ];
}

function chatPanel({ row: { request, response, status, duration_ms: ms, created_at: createdAt, id } }) {
  return [
    el('h2', {}, 'Chat'),
    factList({
      time: time(createdAt),
      latency: latency(ms),
      status: status === 200 ? '✓ 200' : failedBadge(status),
      id,
    }),
    ...listOf(parse(request)?.messages).map((message) => messageArticle(message?.role, [message])),
    ...responseArticles(response),
    section('Request', jsonView(request)),
    copyButtons('/v1/chat/completions', 'chat', request, BEARER),
    section('Response', jsonView(response)),
  ];
}

// The choices of a response, or of its events, and errors.
function responseArticles(response) {
  const whole = parse(response);
  const bodies = whole ? [whole] : [...response.matchAll(/^data: ?(\{.*)$/gm)].map(([, text]) => parse(text));
  const all = bodies.flatMap((body) => listOf(body?.choices));
  const choices = Map.groupBy(all, (choice) => choice?.index);
  const articles = [...choices.values()].map((own) => {
    const parts = own.map((choice) => choice?.message ?? choice?.delta);
    return messageArticle('assistant', parts);
  });
  const errors = bodies.flatMap((body) => body?.error ?? []);
  return [...articles, ...errors.map((error) => messageArticle('error', [{ content: error.message ?? error }]))];
}

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'error'];

// A message from its parts: servers send texts and arguments in parts, and the name of a tool once.
function messageArticle(role, parts) {
  let [reasoning, content] = ['', ''];
  const calls = new Map();
  for (const part of parts) {
    reasoning += reasoningNames.map((name) => part?.[name]).find(Boolean) ?? '';
    content += contentText(part?.content);
    for (const [at, { index = at, function: tool } = {}] of listOf(part?.tool_calls).entries()) {
      const call = calls.get(index) ?? { name: '', text: '' };
      calls.set(index, { name: call.name + (tool?.name ?? ''), text: call.text + (tool?.arguments ?? '') });
    }
  }
  const className = `message ${ROLES.includes(role) ? role : ''}`;
  return el(
    'article',
    { className },
    el('h3', {}, role === 'error' ? '✕ error' : String(role)),
    ...(reasoning ? [el('details', { open: true }, el('summary', {}, 'reasoning'), el('p', {}, reasoning))] : []),
    ...(content ? [el('p', {}, content)] : []),
    ...Array.from(calls.values(), ({ name, text }) =>
      el(
        'div',
        { className: 'tool-call' },
        el('div', {}, el('small', {}, 'calls '), el('code', {}, name)),
        jsonView(text),
      ),
    ),
  );
}

function listOf(value) {
  return Array.isArray(value) ? value : [];
}

function contentText(content) {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : content ? JSON.stringify(content) : '';
  return content.map((part) => (typeof part?.text === 'string' ? part.text : `[${part?.type ?? 'part'}]`)).join('\n');
}

// For texts of messages only; numbers that are shown are their own text.
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
