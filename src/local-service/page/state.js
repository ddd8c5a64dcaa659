// The state of the page is its URL: #table?name=value&name=value.

const TYPE = { name: 'type', label: 'Feedback type' };
const VALUE = { name: 'value', label: 'Feedback value', hint: '<0.5' };
const PROJECT = { name: 'project', label: 'Project' };
const MODEL = { name: 'model', label: 'Model' };

/** The tables: their rows, and their filters besides the text and the time. */
export const tables = {
  calls: {
    title: 'Traces',
    total: 'traces',
    noun: ['trace', 'traces'],
    filters: [
      { name: 'failed', label: 'Status', choices: { '': 'All', yes: '✕ Failed', no: '✓ Not failed' } },
      { name: 'duration', label: 'Duration', hint: '>2s' },
      TYPE,
      VALUE,
      PROJECT,
      { name: 'op', label: 'Operation' },
    ],
    fill: 'svc call start --project-id demo/app --op-name hello --inputs \'{"name":"you"}\'',
  },
  feedback: {
    title: 'Feedback',
    total: 'feedback',
    noun: ['record', 'records'],
    filters: [TYPE, VALUE, PROJECT, { name: 'trigger', label: 'Trigger' }, { name: 'user', label: 'Creator' }],
    fill: 'svc feedback replace --new --project-id demo/app --svc-ref svc:///demo/app/object/answer:v1 --feedback-type quality --score 0.9',
  },
  jobs: {
    title: 'Jobs',
    total: 'jobs',
    noun: ['job', 'jobs'],
    filters: [{ name: 'name', label: 'Name' }, { name: 'job', label: 'Id' }, MODEL],
    fill: 'svc train groups.jsonl --model-id 0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05',
  },
  chats: {
    title: 'Chats',
    total: 'chats',
    noun: ['chat', 'chats'],
    filters: [MODEL, { name: 'status', label: 'Status' }],
    fill: 'svc chat "Say hello."',
  },
};

/** The parameters that close what is open. */
export const CLOSED = { trace: '', in: '', id: '', with: '' };

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

/** The fields that select records, with their values. */
export function fieldsOf({ table, parameters }) {
  const times = ['From', 'Until'].map((label) => ({ name: label.toLowerCase(), label, hint: '2026-01-31 13:00' }));
  const fields = [{ name: 'q', label: 'Search' }, ...tables[table].filters, ...times];
  return fields.map((field) => ({ ...field, value: parameters[field.name] ?? '' }));
}

/** What a state selects, as the service reads it. Throws an Error whose message can be shown. */
export function queryOf(state) {
  const { sort, order } = state.parameters;
  const entries = fieldsOf(state).flatMap(({ name, label, value }) => {
    if (value === '' || (name !== 'from' && name !== 'until')) return [[name, value]];
    const moment = Date.parse(value);
    if (Number.isNaN(moment))
      throw new Error(`${label} “${value}” is not a time: write 2026-01-31 or 2026-01-31 13:00.`);
    return [[name, String(moment)]];
  });
  return Object.fromEntries([...entries, ['sort', sort], ['order', order]].filter(([, value]) => value));
}

/** What a state selects, for people. */
export function describe(state) {
  const chosen = fieldsOf(state).filter(({ value }) => value);
  const texts = chosen.map(({ name, label, value, choices }) => {
    return `${name === 'q' ? 'text' : label.toLowerCase()} “${choices?.[value] ?? value}”`;
  });
  return texts.join(', ');
}
