// The least a Node program can do for one POST.
const { request } = require('node:http');

const [url] = process.argv.slice(2);
const sending = request(url, { method: 'POST', headers: { 'Content-Type': 'application/json' } }, (reply) => {
  let text = '';
  reply.on('data', (piece) => {
    text += piece;
  });
  reply.on('end', () => process.stdout.write(text));
});
sending.end(
  '{"start":{"project_id":"a/b","op_name":"x","started_at":"2026-01-01T00:00:00Z","attributes":{},"inputs":{}}}',
);
