// A trace with two calls below its root, sent by one process. In a program, call startCall where the work starts.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';

const [trace_id, lines] = [randomUUID(), []];
const startCall = (op_name, inputs, parent_id) => {
  const start = { id: randomUUID(), trace_id, parent_id, op_name, inputs };
  lines.push(JSON.stringify({ start: { ...start, started_at: new Date(), attributes: {} } }));
  return start.id;
};
const answer = startCall('answer', { question: 'Where?' });
startCall('search', { query: 'place' }, answer);
startCall('generate', { prompt: 'Where?' }, answer);
const args = 'call start --local --project-id acme/bot --max-outage 0 -q --batch -'.split(' ');
execFileSync('svc', args, { input: lines.join('\n') });
