// Sends requests over connections that are kept open, each waiting for its answer before the next one:
// node load.js <url> <operation> <requests> <connections>
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';

const [url = '', operation = '', requests, connections] = process.argv.slice(2);
const { port } = new URL(url);
const project_id = 'acme/support-bot';
const operations = {
  'call start': ['/call/start', call],
  'feedback replace': ['/feedback/replace', feedback],
  'feedback schema': ['/feedback/payload_schema', () => ({ project_id, start: '2023-01-01T00:00:00Z' })],
};
const [path, bodyOf] = operations[operation];
let left = Number(requests);

for (let at = 0; at < Number(connections); at++) {
  const socket = connect(Number(port), '127.0.0.1', next).setNoDelay();
  let text = '';
  socket.on('data', (piece) => {
    text += piece.toString('latin1');
    const head = text.indexOf('\r\n\r\n');
    if (head === -1 || text.length < head + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1])) return;
    if (!text.startsWith('HTTP/1.1 200 ')) throw new Error(text);
    text = '';
    next();
  });
  function next() {
    if (left === 0) return void socket.end();
    left -= 1;
    const body = JSON.stringify(bodyOf(left));
    const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json`;
    socket.write(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }
}

function call() {
  return {
    start: {
      project_id,
      id: randomUUID(),
      trace_id: randomUUID(),
      op_name: 'answer',
      started_at: '2026-01-31T12:00:00.000Z',
      attributes: { model: 'm', tags: ['a', 'b'] },
      inputs: { question: 'How do I reset my password?', history: ['one', 'two', 'three'], temperature: 0.2 },
    },
  };
}

function feedback(at) {
  return {
    project_id,
    feedback_id: randomUUID(),
    feedback_type: 'rating',
    svc_ref: 'svc:///acme/support-bot/object/answer:v3',
    trigger_ref: `svc:///acme/support-bot/object/monitor-${at % 50}:v1`,
    payload: { score: 0.9, output: { length: 120, tone: 'friendly' }, flags: [true, false] },
  };
}
