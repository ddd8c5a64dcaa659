// The least a Node program with undici can do to send the lines of a file and keep the answers.
import { createWriteStream, readFileSync } from 'node:fs';
import { Pool } from 'undici';

const [address, input, output, concurrency] = process.argv.slice(2);
const { origin, pathname: path } = new URL(address);
const lines = readFileSync(input, 'utf8').trim().split('\n');
const pool = new Pool(origin, { connections: Number(concurrency) });
const answers = createWriteStream(output);
const headers = { 'Content-Type': 'application/json' };
let next = 0;
const worker = async () => {
  while (next < lines.length) {
    const { body } = await pool.request({ path, method: 'POST', headers, body: lines[next++] });
    answers.write(`${await body.text()}\n`);
  }
};
await Promise.all(Array.from({ length: Number(concurrency) }, worker));
await pool.close();
answers.end();
