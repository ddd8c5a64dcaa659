import { read } from './api.js';
import { histogram, limits, meanOf, means, sparkline } from './charts.js';
import { badge, counted, duration, el, link, short, time } from './dom.js';
import { copyButtons, jsonView, nodeAt, parseTree, textAt } from './json.js';
import { CLOSED, href } from './state.js';

const BASIC = '-u "$SVC_USERNAME:$SVC_PASSWORD"';
const BEARER = '-H "Authorization: Bearer $SVC_TOKEN"';
const MAX_PAYLOAD_COLUMNS = 5;
const MAX_BADGES = 2;
const RANKS = ['numeric', 'boolean', 'categorical'];

/** The columns of a table: a name, the cell of a row, a class, and a chart of the values. */
export function columnsOf(state, rows, paths) {
  const opener = (changes, text) => link(href(state, { ...CLOSED, ...changes }), text || '(no name)', 'opener');
  const filter = (label, name, column = name) => [
    label,
    ({ [column]: value }) => (value ? link(href(state, { ...CLOSED, [name]: value }), value, 'filter') : ''),
  ];
  return {
    calls: () => [
      ['Name', (row) => callCell(row, opener), 'main'],
      filter('Project', 'project', 'project_id'),
      ['Started', (row) => time(row.startedAt)],
      ['Calls', (row) => row.calls.toLocaleString('en'), 'number'],
      ['Duration', (row) => duration(row.durationMs), 'number'],
      ['Feedback', callBadges],
    ],
    feedback: () => [
      ['Type', (row) => opener({ in: row.project_id, id: row.id }, row.feedback_type), 'main'],
      ['Time', (row) => time(row.created_at)],
      ...chosenPaths(state, paths).map(({ path, type }) => payloadColumn(path, type, rows)),
      filter('Project', 'project', 'project_id'),
      filter('Trigger', 'trigger', 'trigger_ref'),
      filter('Creator', 'user', 'svc_user_id'),
    ],
    jobs: () => [
      ['Name', (row) => opener({ id: row.id }, jobName(row)), 'main'],
      filter('Model', 'model', 'model_id'),
      ['Time', (row) => time(row.created_at)],
      ['Groups', (row) => row.groups?.toLocaleString('en') ?? '', 'number'],
    ],
    chats: () => [
      ['Question', (row) => opener({ id: row.id }, row.title), 'main'],
      filter('Model', 'model'),
      ['Time', (row) => time(row.created_at)],
      ['Latency', (row) => duration(row.durationMs), 'number'],
      ['Tokens', (row) => (row.promptTokens === null ? '' : `${row.promptTokens} + ${row.completionTokens}`), 'number'],
      ['Finish', (row) => (row.status === 200 && !row.error ? row.finish : badge(row.error || row.status, 'failed'))],
    ],
  }[state.table]();
}

// A call that a search has found is named with its trace.
function callCell({ trace, project_id: project, id, name, op, root }, opener) {
  const isRoot = id === root.id;
  const notes = [op === name ? '' : op, isRoot || root.name === name ? '' : `in ${root.name}`].filter(Boolean);
  return [opener(isRoot ? { trace } : { trace, in: project, id }, name), el('small', {}, ` ${notes.join(' ')}`)];
}

function callBadges({ failed, feedback }) {
  const badges = feedback.slice(0, MAX_BADGES).map((text) => badge(text));
  if (failed > 0) badges.unshift(badge(`${failed} failed`, 'failed'));
  if (feedback.length > MAX_BADGES) badges.push(el('small', {}, `+${feedback.length - MAX_BADGES}`));
  return badges.flatMap((each) => [each, ' ']);
}

/** The paths that are columns: those of the URL, else numbers and booleans first. */
export function chosenPaths({ parameters: { columns } }, paths) {
  if (columns !== undefined) return paths.filter(({ path }) => columns.split(',').includes(path));
  const sorted = paths.toSorted((left, right) => RANKS.indexOf(left.type) - RANKS.indexOf(right.type));
  return sorted.slice(0, MAX_PAYLOAD_COLUMNS);
}

function payloadColumn(path, type, rows) {
  const cell = (row) => textAt(parseTree(row.record), `payload.${path}`);
  if (type !== 'numeric') return [path, cell];
  const texts = rows.map(cell).filter((text) => text !== '');
  const values = texts.map(Number).filter(Number.isFinite);
  return [path, cell, 'number', values.length > 1 ? sparkline(values, path) : ''];
}

/** The contents of the panel of a record. */
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
  return [
    el('h2', {}, textAt(tree, 'display_name') || textAt(tree, 'op_name') || row.id),
    time(textAt(tree, 'started_at') || row.created_at),
    section('Feedback', feedback.length > 0 ? feedback.map(feedbackArticle) : 'None.'),
    ...part('Inputs', 'inputs'),
    ...part('Attributes', 'attributes'),
    factList({
      project: linkTo('calls', { project: row.project_id }, row.project_id),
      trace_id: linkTo('calls', { trace: row.trace_id }, row.trace_id),
      ...Object.fromEntries(names.map((name) => [name, textAt(tree, name)])),
    }),
    section('Stored JSON', jsonView(row.start)),
    copyButtons('/call/start', 'call start', `{"start":${row.start}}`, BASIC),
  ];
}

function feedbackArticle(row) {
  const where = linkTo('feedback', { in: row.project_id, id: row.id }, row.feedback_type);
  const payload = nodeAt(parseTree(row.record), 'payload')?.text ?? row.record;
  return el('article', {}, where, ' ', time(row.created_at), jsonView(payload));
}

function feedbackPanel({ row }) {
  const ref = textAt(parseTree(row.record), 'svc_ref');
  const [, project, id] = /^svc:\/\/\/(.+)\/call\/([^/]+)$/.exec(ref) ?? [];
  return [
    el('h2', {}, row.feedback_type),
    time(row.created_at),
    factList({
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

/** The name that the configuration of a job gives, else its model. */
export function jobName({ model_id: model, experimental_config: config }) {
  return textAt(parseTree(config ?? ''), 'name') || model;
}

function jobPanel({ row }, isCurrent) {
  const status = el('p', { role: 'status' }, 'Reading the trajectories…');
  const charts = el('div');
  readTrajectories().catch(({ message }) => status.replaceChildren(message));
  const config = row.experimental_config;
  return [
    el('h2', {}, jobName(row)),
    time(row.created_at),
    factList({ id: row.id, model: row.model_id }),
    status,
    charts,
    ...(config === null ? [] : [section('Configuration', jsonView(config))]),
  ];

  async function readTrajectories() {
    const all = [];
    for (let after = {}; isCurrent() && after; ) {
      const page = await read('trajectories', { job: row.id, ...after });
      for (const trajectory of page.trajectories) all.push(trajectory);
      after = page.next === null ? undefined : { after: page.next };
      const trajectories = counted(page.total, 'trajectory', 'trajectories');
      status.textContent = after ? `Read ${all.length} of ${trajectories}…` : trajectories;
    }
    charts.replaceChildren(...jobCharts(all));
  }
}

function jobCharts(trajectories) {
  const valuesOf = (name, own = trajectories) => own.map((each) => each[name]).filter((value) => value !== null);
  const rewards = valuesOf('reward');
  const lengths = ['messages', 'tokens'].map((name) => histogram(name, 'Trajectories', valuesOf(name).filter(Boolean)));
  if (rewards.length === 0) return ['No rewards.', ...lengths];
  const rewardsBy = (name) =>
    [...Map.groupBy(trajectories, (each) => each[name])].flatMap(([key, own]) => {
      const values = valuesOf('reward', own);
      return key === null || values.length === 0 ? [] : [{ key, values }];
    });
  const ranges = rewardsBy('group').map(({ values }) => limits(values).reduce((low, high) => high - low));
  const versions = rewardsBy('version').map(({ key, values }) => [key, meanOf(values)]);
  const flat = ranges.filter((range) => range === 0).length;
  const summary = `${counted(rewards.length, 'reward', 'rewards')} in ${counted(ranges.length, 'group', 'groups')}`;
  const values = `from ${limits(rewards).map(short).join(' to ')}, mean ${short(meanOf(rewards))}`;
  const teaching = `${counted(flat, 'group has', 'groups have')} equal rewards and cannot teach a model`;
  return [
    el('p', {}, `${summary}, ${values}. ${teaching}${flat > 0 ? ' (red)' : ''}.`),
    histogram('reward', 'Trajectories', rewards),
    histogram('reward range', 'Groups', ranges, flat),
    means('position', 'Mean reward', [...rewards.entries()]),
    means('final policy version', 'Mean reward', versions),
    ...lengths,
  ];
}

function chatPanel({ row: { request, response, status, duration_ms: ms, created_at: createdAt } }) {
  return [
    el('h2', {}, status === 200 ? 'Chat' : `Chat, status ${status}`),
    time(createdAt),
    ` ${duration(ms)}`,
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

// A message from its parts: servers send texts and arguments in parts, and the name of a tool once.
function messageArticle(role, parts) {
  const texts = new Map();
  const add = (key, text) => texts.set(key, (texts.get(key) ?? '') + text);
  for (const part of parts) {
    add('reasoning', part?.reasoning ?? part?.reasoning_content ?? '');
    add('content', contentText(part?.content));
    for (const [at, call] of listOf(part?.tool_calls).entries())
      add(call?.index ?? at, (call?.function?.name ?? '') + (call?.function?.arguments ?? ''));
  }
  const shown = [...texts].filter(([, text]) => text);
  const paragraphs = shown.map(([key, text]) => el('p', {}, key === 'reasoning' ? el('small', {}, text) : text));
  return el('article', { className: role === 'error' ? 'failed' : '' }, el('h3', {}, String(role)), ...paragraphs);
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
