// The least a Node program with undici can do to print a streamed chat as it comes.
import { request } from 'undici';

const [url, model] = process.argv.slice(2);
const { body } = await request(url, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], stream: true }),
});
let rest = '';
for await (const piece of body.setEncoding('utf8')) {
  const events = (rest + piece).split('\n\n');
  rest = events.pop() ?? '';
  let text = '';
  for (const event of events) {
    if (event.startsWith('data: {')) text += JSON.parse(event.slice(6)).choices[0].delta.content ?? '';
  }
  process.stdout.write(text);
}
