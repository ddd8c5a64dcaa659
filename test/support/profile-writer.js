// Writes profiles one after the other, as a process of its own: profile-writer.js NAME COUNT makes NAME-1 to NAME-COUNT.
import { randomBytes } from 'node:crypto';
import { homedir, hostname } from 'node:os';
import { Readable, Writable } from 'node:stream';
import { main } from '../../dist/main.js';

const [name, count] = process.argv.slice(2);
for (let number = 1; number <= Number(count); number++) {
  const code = await main({
    argv: ['profile', 'set', `${name}-${number}`, '--base-url', 'https://svc.test'],
    env: process.env,
    stdin: Readable.from([]),
    stdout: toStderr(),
    stderr: toStderr(),
    cwd: process.cwd(),
    home: homedir(),
    platform: process.platform,
    pid: process.pid,
    host: hostname(),
    isRunning,
    processScope: undefined,
    processStart: () => undefined,
    now: Date.now,
    elapsed: () => performance.now(),
    uptime: () => performance.now(),
    after: (milliseconds, action) => {
      const timer = setTimeout(action, milliseconds);
      return () => clearTimeout(timer);
    },
    randomBytes,
    keychain: [],
    onSignal: () => () => {},
  });
  if (code !== 0) process.exitCode = code;
}

function toStderr() {
  return new Writable({ write: (chunk, _, done) => void process.stderr.write(chunk, done) });
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
