#!/usr/bin/env node
// The only file that touches process. It is plain JavaScript that an old Node can read far enough to be told so.
const [major, minor, patch] = process.versions.node.split('.').map(Number);
const isOld = major < 20 || (major === 20 && (minor < 18 || (minor === 18 && patch < 1)));

if (isOld) {
  process.stderr.write(`svc: needs Node 20.18.1 or later; this is ${process.versions.node}\n`);
  process.exitCode = 2;
} else {
  // Whatever ends the process before the outcome is known is a failure.
  process.exitCode = 1;
  start().catch((error) => {
    // main catches everything; before it there are only a missing build and the machine's limits, such as too few file descriptors.
    const isUnbuilt = !builtin('fs').existsSync(`${__dirname}/../dist/main.js`);
    process.stderr.write(
      isUnbuilt
        ? `svc: ${builtin('path').resolve(__dirname, '../dist')} does not exist\nhint: run npm run build\n`
        : `svc: cannot start: ${error.message}\n`,
    );
    process.exit(12);
  });
}

async function start() {
  if (hasToldText()) process.exit(0);
  const { homedir, hostname, userInfo } = builtin('os');
  const { isAbsolute } = builtin('path');
  // HOME may be empty or relative: then the home would be wherever svc is started. The working folder may be gone, and
  // a user may have no home at all: nothing lies below /dev/null.
  const firstAbsolute = (...folders) => {
    for (const folder of folders) {
      try {
        if (isAbsolute(folder())) return folder();
      } catch {}
    }
    return '/dev/null';
  };
  const home = firstAbsolute(homedir, () => userInfo().homedir);
  const env = home === '/dev/null' ? { ...process.env } : process.env;
  // Some libraries ask the system for the home themselves, and would throw.
  if (home === '/dev/null') process.env.HOME = home;
  keepCompiled(home);
  const { main } = await import('../dist/main.js');
  const code = await main({
    argv: process.argv.slice(2),
    env,
    // Made when they are asked for, which takes a millisecond each.
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    cwd: firstAbsolute(process.cwd),
    home,
    platform: process.platform,
    pid: process.pid,
    host: hostname(),
    node: process.versions.node,
    isRunning,
    now: Date.now,
    elapsed: () => Number(process.hrtime.bigint()) / 1e6,
    after,
    randomBytes,
    keychain: [process.execPath, `${__dirname}/keychain.js`],
    onSignal,
  });
  // All output has left by now; what may still be open, such as a stdin that was not read to its end, must not keep the process.
  process.exit(code);
}

// Text needs none of the rest, not even the loader of ES modules or a stream. What cannot be written is left to those who
// can say why.
function hasToldText() {
  const { rootText } = require('../dist/root.cjs');
  const { fstatSync, writeSync } = builtin('fs');
  const words = process.argv.slice(2);
  try {
    const columns = words.length === 1 && fstatSync(1).isCharacterDevice() ? process.stdout.columns : undefined;
    const text = rootText(words, Math.min(columns || 80, 100));
    return text !== undefined && writeSync(1, text) === Buffer.byteLength(text);
  } catch {
    return false;
  }
}

// Without the loader of ES modules, which would look at every export: of some that loads more.
function builtin(name) {
  return process.getBuiltinModule(`node:${name}`);
}

// The system's own source of chance: node:crypto, which reads it too, takes 4 to 6 ms to load.
function randomBytes(count) {
  const { closeSync, openSync, readSync } = builtin('fs');
  try {
    const bytes = Buffer.alloc(count);
    const file = openSync('/dev/urandom');
    try {
      if (readSync(file, bytes) === count) return bytes;
    } finally {
      closeSync(file);
    }
  } catch {}
  return builtin('crypto').randomBytes(count);
}

// Node 22 and later keep what they have compiled: a start without that takes a sixth longer. Not in a home of somebody
// else, who could have left code there.
function keepCompiled(home) {
  const { enableCompileCache } = builtin('module');
  const { isAbsolute, join } = builtin('path');
  try {
    if (!enableCompileCache || builtin('fs').statSync(home).uid !== process.getuid?.()) return;
    const { XDG_CACHE_HOME: named = '' } = process.env;
    enableCompileCache(join(isAbsolute(named) ? named : join(home, '.cache'), 'svc'));
  } catch {}
}

function after(milliseconds, action) {
  const timer = setTimeout(action, milliseconds);
  return () => clearTimeout(timer);
}

function isRunning(pid) {
  try {
    // Signal 0 asks whether a process exists without disturbing it.
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function onSignal(listener) {
  process.on('SIGINT', listener).on('SIGTERM', listener);
  return () => process.off('SIGINT', listener).off('SIGTERM', listener);
}
