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

/** The names and labels of the fields that select records. */
export function fieldsOf({ table }) {
  return { q: 'Search', ...tables[table].filters, from: 'From', until: 'Until' };
}

/** What a state selects, as the service reads it. */
export function queryOf(state) {
  const query = {};
  for (const name of Object.keys(fieldsOf(state))) {
    const value = state.parameters[name] ?? '';
    const moment = Date.parse(value);
    if (name !== 'from' && name !== 'until') Object.assign(query, value ? { [name]: value } : {});
    else if (!Number.isNaN(moment)) query[name] = String(moment);
  }
  return query;
}

/** What a state selects, for people. */
export function describe(state) {
  const fields = Object.entries({ ...fieldsOf(state), q: 'text' });
  const texts = fields.map(([name, label]) => [label.toLowerCase(), state.parameters[name]]);
  return texts.flatMap(([label, value]) => (value ? [`${label} “${value}”`] : [])).join(', ');
}
