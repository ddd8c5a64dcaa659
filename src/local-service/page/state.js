// The state of the page is its URL: #table?name=value&name=value.

/** The tables, and their filters besides the text and the time. */
export const tables = {
  calls: { title: 'Calls', noun: ['trace', 'traces'], filters: { project: 'Project', op: 'Operation' } },
  feedback: {
    title: 'Feedback',
    noun: ['record', 'records'],
    filters: { project: 'Project', type: 'Type', trigger: 'Trigger', user: 'Creator' },
  },
  jobs: { title: 'Training jobs', noun: ['job', 'jobs'], filters: { model: 'Model' } },
  chats: { title: 'Chats', noun: ['chat', 'chats'], filters: { model: 'Model', status: 'Status' } },
};

/** The parameters that close what is open. */
export const CLOSED = { trace: '', in: '', id: '' };

export function readState() {
  const [name, query = ''] = location.hash.slice(1).split('?');
  const table = Object.hasOwn(tables, name) ? name : 'calls';
  return { table, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** The URL of a state with some parameters changed; those without a value are left out. */
export function href({ table, parameters }, changes = {}) {
  const entries = Object.entries({ ...parameters, ...changes }).filter(([, value]) => value);
  return `#${table}${entries.length > 0 ? `?${new URLSearchParams(entries)}` : ''}`;
}

/** The name, label and value of each field that selects records. */
export function fieldsOf({ table, parameters }) {
  const labels = { q: 'Search', ...tables[table].filters, from: 'From', until: 'Until' };
  return Object.entries(labels).map(([name, label]) => ({ name, label, value: parameters[name] ?? '' }));
}

/** What a state selects, as the service reads it. */
export function queryOf(state) {
  const entries = fieldsOf(state).flatMap(({ name, value }) => {
    if (name !== 'from' && name !== 'until') return value ? [[name, value]] : [];
    const moment = Date.parse(value);
    return Number.isNaN(moment) ? [] : [[name, String(moment)]];
  });
  return Object.fromEntries(entries);
}

/** What a state selects, for people. */
export function describe(state) {
  const texts = fieldsOf(state).map(
    ({ name, label, value }) => value && `${name === 'q' ? 'text' : label.toLowerCase()} “${value}”`,
  );
  return texts.filter(Boolean).join(', ');
}
