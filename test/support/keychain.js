// Stands for bin/keychain.js: keychain.js FILE [MODE] keeps secrets in a file; MODE "locked" fails, "silent" never answers.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';

const [file, mode] = process.argv.slice(2);
const entries = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
const { action, account, secret } = JSON.parse(await text(process.stdin));
if (mode === 'silent') setInterval(() => {}, 1000);
else if (mode === 'locked') process.exitCode = 1;
else {
  if (action !== 'set' && entries[account] === undefined) process.exitCode = 3;
  if (action === 'get') process.stdout.write(entries[account] ?? '');
  if (action === 'set') entries[account] = secret;
  if (action === 'remove') delete entries[account];
  writeFileSync(file, JSON.stringify(entries));
}
