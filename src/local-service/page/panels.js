import { read } from './api.js';
import { histogram, limits, means, ranges } from './charts.js';
import { counted, duration, el, factList, link, short, time } from './dom.js';
import { copyButtons, jsonView, nodeAt, parseTree, textAt } from './json.js';
import { href } from './state.js';

const BASIC = '-u "$SVC_USERNAME:$SVC_PASSWORD"';
const BEARER = '-H "Authorization: Bearer $SVC_TOKEN"';

/** The contents of the panel of a record. */
export const panels = { calls: callPanel, feedback: feedbackPanel, jobs: jobPanel, chats: chatPanel };

function section(title, ...children) {
  return el('section', {}, el('h3', {}, title), ...children);
}

function callPanel({ row, feedback }) {
  const tree = parseTree(row.start);
  const part = (title, name) => {
    const node = nodeAt(tree, name);
    return node?.items?.length > 0 ? [section(title, jsonView(node.text))] : [];
  };
  const names = ['op_name', 'id', 'parent_id', 'svc_run_id', 'svc_user_id'];
  const project = link(href({ table: 'calls', parameters: { project: row.project_id } }), row.project_id);
  const traceLink = link(href({ table: 'calls', parameters: { trace: row.trace_id } }), row.trace_id);
  const facts = [['project', project], ['trace_id', traceLink], ...names.map((name) => [name, textAt(tree, name)])];
  return [
    el('h2', {}, textAt(tree, 'display_name') || textAt(tree, 'op_name') || row.id),
    time(textAt(tree, 'started_at') || row.created_at),
    section('Feedback', feedback.length > 0 ? feedback.map(feedbackArticle) : 'None.'),
    ...part('Inputs', 'inputs'),
    ...part('Attributes', 'attributes'),
    factList(facts),
    section('Stored JSON', jsonView(row.start)),
    copyButtons('/call/start', 'call start', `{"start":${row.start}}`, BASIC),
  ];
}

function feedbackArticle(row) {
  const where = link(href({ table: 'feedback', parameters: { in: row.project_id, id: row.id } }), row.feedback_type);
  const payload = nodeAt(parseTree(row.record), 'payload')?.text ?? row.record;
  return el('article', {}, where, ' ', time(row.created_at), jsonView(payload));
}

function feedbackPanel({ row }) {
  const ref = textAt(parseTree(row.record), 'svc_ref');
  const [, project, id] = /^svc:\/\/\/(.+)\/call\/([^/]+)$/.exec(ref) ?? [];
  return [
    el('h2', {}, row.feedback_type),
    time(row.created_at),
    factList([
      ['about', project ? link(href({ table: 'calls', parameters: { in: project, id } }), ref) : ref],
      ['project', row.project_id],
      ['trigger', row.trigger_ref],
      ['creator', row.svc_user_id],
      ['id', row.id],
    ]),
    section('Stored JSON', jsonView(row.record)),
    copyButtons('/feedback/replace', 'feedback replace', row.record, BASIC),
  ];
}

/** The name that the configuration of a job gives, else its model. */
export function jobName({ model_id: model, experimental_config: config }) {
  return textAt(parseTree(config ?? ''), 'name') || model;
}

async function jobPanel({ row }, isCurrent) {
  const rewards = [];
  const status = el('p', { role: 'status' }, 'Reading the rewards…');
  const charts = el('div');
  readAll().catch((error) => status.replaceChildren(error.message));
  const config = row.experimental_config;
  return [
    el('h2', {}, jobName(row)),
    time(row.created_at),
    factList([
      ['id', row.id],
      ['model', row.model_id],
    ]),
    status,
    charts,
    ...(config === null ? [] : [section('Configuration', jsonView(config))]),
  ];

  async function readAll() {
    for (let after = {}, count = 0; isCurrent() && after; ) {
      const page = await read('rewards', { job: row.id, ...after });
      for (const reward of page.rewards) rewards.push(reward);
      count += page.read;
      after = page.next === null ? undefined : { after: page.next };
      const trajectories = counted(page.total, 'trajectory', 'trajectories');
      status.textContent = after ? `Read ${count} of ${trajectories}…` : trajectories;
    }
    charts.replaceChildren(...rewardCharts(rewards));
  }
}

function rewardCharts(rewards) {
  if (rewards.length === 0) return ['No rewards.'];
  const values = rewards.map(([, reward]) => reward);
  const meanOf = (own) => own.reduce((sum, value) => sum + value, 0) / own.length;
  const groups = [...Map.groupBy(rewards, ([group]) => group)].map(([at, members]) => {
    const [low, high] = limits(members.map(([, reward]) => reward));
    return { at, low, high };
  });
  const flat = groups.filter(({ low, high }) => low === high).length;
  const versions = [...Map.groupBy(rewards, ([, , version]) => version)]
    .flatMap(([version, own]) => (version === null ? [] : [[version, meanOf(own.map(([, reward]) => reward))]]))
    .sort(([left], [right]) => left - right);
  const positions = values.map((value, at) => [at, value]);
  const groupCount = counted(groups.length, 'group', 'groups');
  const summary = `${counted(values.length, 'reward', 'rewards')} in ${groupCount}, from ${limits(values).map(short).join(' to ')}, mean ${short(meanOf(values))}`;
  const teaching = `${counted(flat, 'group has', 'groups have')} equal rewards and cannot teach a model.`;
  return [
    el('p', {}, `${summary}. ${teaching}`),
    histogram('Rewards', values, 'reward', 'trajectories'),
    ranges('Rewards within each group', groups, 'group', 'lowest to highest reward'),
    means('Reward by position', positions, 'trajectory', 'mean reward'),
    ...(versions.length > 1
      ? [means('Reward by policy version', versions, 'final policy version', 'mean reward')]
      : []),
  ];
}

function chatPanel({ row: { request, response, status, duration_ms: ms, created_at: createdAt } }) {
  const messages = parse(request)?.messages;
  const all = [...listOf(messages), ...responseMessages(response)];
  return [
    el('h2', {}, status === 200 ? 'Chat' : `Chat, status ${status}`),
    time(createdAt),
    ` ${duration(ms)}`,
    ...all.map(messageArticle),
    section('Request', jsonView(request)),
    copyButtons('/v1/chat/completions', 'chat', request, BEARER),
    section('Response', jsonView(response)),
  ];
}

function messageArticle(message) {
  const role = String(message?.role ?? 'message');
  const calls = listOf(message?.tool_calls).map((call) => `\n${JSON.stringify(call?.function ?? call)}`);
  const reasoning = message?.reasoning ? [el('p', {}, el('small', {}, String(message.reasoning)))] : [];
  const className = role === 'error' ? 'message failed' : 'message';
  return el('article', { className }, el('h3', {}, role), reasoning, contentText(message?.content) + calls.join(''));
}

// The messages of a response, or of its events, whose parts are joined: servers name a call once and send its arguments in
// parts.
function responseMessages(response) {
  const events = [...response.matchAll(/^data: ?(\{.*)$/gm)].map(([, text]) => text);
  const joined = new Map();
  for (const body of parse(response) ? [response] : events) {
    const { choices, error } = parse(body) ?? {};
    if (error) joined.set('error', { role: 'error', content: String(error.message ?? JSON.stringify(error)) });
    for (const { index, message, delta = message } of listOf(choices)) {
      const own = joined.get(index) ?? { role: 'assistant', content: '', reasoning: '', calls: new Map() };
      joined.set(index, own);
      own.content += contentText(delta?.content);
      own.reasoning += String(delta?.reasoning ?? delta?.reasoning_content ?? '');
      for (const [at, { index: place = at, function: part }] of listOf(delta?.tool_calls).entries()) {
        const { name = '', arguments: text = '' } = own.calls.get(place) ?? {};
        own.calls.set(place, { name: name + (part?.name ?? ''), arguments: text + (part?.arguments ?? '') });
      }
    }
  }
  return Array.from(joined.values(), ({ calls = new Map(), ...message }) => ({
    ...message,
    tool_calls: [...calls.values()],
  }));
}

function listOf(value) {
  return Array.isArray(value) ? value : [];
}

function contentText(content) {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return content ? JSON.stringify(content) : '';
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
