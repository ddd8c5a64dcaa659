import { sparkline } from './charts.js';
import { badge, duration, el, link, time } from './dom.js';
import { parseTree, textAt } from './json.js';
import { jobName } from './panels.js';
import { CLOSED, href } from './state.js';

const MAX_PAYLOAD_COLUMNS = 5;
const MAX_BADGES = 2;

/** The columns of a table: a name, the cell of a row, a class, and a chart of the values. */
export function columnsOf(state, rows, paths) {
  const opener = (changes, text) => link(href(state, { ...CLOSED, ...changes }), text || '(no name)', 'opener');
  const filter = (name, value) => (value ? link(href(state, { ...CLOSED, [name]: value }), value, 'filter') : '');
  if (state.table === 'calls')
    return [
      ['Name', (row) => callCell(row, opener), 'main'],
      ['Project', (row) => filter('project', row.project)],
      ['Started', (row) => time(row.startedAt)],
      ['Calls', (row) => row.calls.toLocaleString('en'), 'number'],
      ['Duration', (row) => duration(row.durationMs), 'number'],
      ['Feedback', (row) => callBadges(row)],
    ];
  if (state.table === 'feedback')
    return [
      ['Type', (row) => opener({ in: row.project_id, id: row.id }, row.feedback_type), 'main'],
      ['Time', (row) => time(row.created_at)],
      ...chosenPaths(state, paths).map(({ path, type }) => payloadColumn(path, type, rows)),
      ['Project', (row) => filter('project', row.project_id)],
      ['Trigger', (row) => filter('trigger', row.trigger_ref)],
      ['Creator', (row) => filter('user', row.svc_user_id)],
    ];
  if (state.table === 'jobs')
    return [
      ['Name', (row) => opener({ id: row.id }, jobName(row)), 'main'],
      ['Model', (row) => filter('model', row.model_id)],
      ['Time', (row) => time(row.created_at)],
      ['Groups', (row) => row.groups?.toLocaleString('en') ?? '', 'number'],
    ];
  return [
    ['Question', (row) => opener({ id: row.id }, row.title), 'main'],
    ['Model', (row) => filter('model', row.model)],
    ['Time', (row) => time(row.createdAt)],
    ['Latency', (row) => duration(row.durationMs), 'number'],
    ['Tokens', (row) => (row.promptTokens === null ? '' : `${row.promptTokens} + ${row.completionTokens}`), 'number'],
    ['Finish', (row) => (row.status === 200 && !row.error ? row.finish : badge(row.error || row.status, 'failed'))],
  ];
}

// A call that a search has found is named with its trace.
function callCell({ trace, project, id, name, op, root }, opener) {
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
  const rank = ['numeric', 'boolean', 'categorical'];
  const sorted = paths.toSorted((left, right) => rank.indexOf(left.type) - rank.indexOf(right.type));
  return sorted.slice(0, MAX_PAYLOAD_COLUMNS);
}

function payloadColumn(path, type, rows) {
  const cell = (row) => textAt(parseTree(row.record), `payload.${path}`);
  if (type !== 'numeric') return [path, cell];
  const texts = rows.map(cell).filter((text) => text !== '');
  const values = texts.map(Number).filter(Number.isFinite);
  return [path, cell, 'number', values.length > 1 ? sparkline(values, path) : ''];
}
