#!/usr/bin/env node
// Beside keychain.js, the only file that touches process. It is plain JavaScript that Node 12 can parse (no ?. and no ??), so that it can print an error.
const [major, minor, patch] = process.versions.node.split('.').map(Number);
const isOld = major < 20 || (major === 20 && (minor < 18 || (minor === 18 && patch < 1)));

if (isOld) {
  process.stderr.write(`svc: needs Node 20.18.1 or later; this is ${process.versions.node}\n`);
  process.exitCode = 2;
} else {
  // A process that ends before the outcome is known has failed.
  process.exitCode = 1;
  start().catch((error) => {
    // main catches every error. Before it runs, only a missing build and limits of the machine can fail, such as file descriptors.
    const isUnbuilt = !builtin('fs').existsSync(`${__dirname}/../dist/main.js`);
    process.stderr.write(
      isUnbuilt
        ? `svc: ${builtin('path').resolve(__dirname, '../dist')} does not exist\nhint: run npm run build\n`
        : `svc: cannot start: ${error.message}\n`,
    );
    process.exit(12);
  });
}

let usedStdin;

// The time to report an error that nothing caught.
const CRASH_TIMEOUT_MS = 2000;
let onCrash;
let hasCrashed = false;

// Also called for a promise that was rejected and that nobody waits for. The error may quote a secret, so only main, which
// knows them, prints its text.
function endByUncaughtError(error) {
  if (hasCrashed) return;
  hasCrashed = true;
  if (onCrash) {
    setTimeout(() => process.exit(1), CRASH_TIMEOUT_MS);
    onCrash(error);
    return;
  }
  const name = error instanceof Error ? error.name : typeof error;
  try {
    const hint = 'please report it with the command line that led to it';
    builtin('fs').writeSync(2, `svc: this is a bug in svc: ${name} outside of a command\nhint: ${hint}\n`);
  } catch {}
  process.exit(1);
}

function onUncaughtError(listener) {
  onCrash = listener;
  return () => {
    onCrash = undefined;
  };
}

async function start() {
  process.on('uncaughtException', endByUncaughtError);
  process.on('exit', restoreTerminal);
  process.on('exit', closeTerminals);
  if (hasPrintedStaticText()) process.exit(0);
  const { homedir, hostname, uptime, userInfo } = builtin('os');
  const { isAbsolute } = builtin('path');
  // HOME may be empty or relative, the working directory may have been removed, and a user may have no home at all.
  // Nothing exists below /dev/null.
  const firstAbsolute = (...candidates) => {
    for (const directory of candidates) {
      try {
        if (isAbsolute(directory())) return directory();
      } catch {}
    }
    return '/dev/null';
  };
  const home = firstAbsolute(homedir, () => userInfo().homedir);
  const env = home === '/dev/null' ? { ...process.env } : process.env;
  // Libraries that look up the home directory themselves would throw.
  if (home === '/dev/null') process.env.HOME = home;
  enableCodeCache(home);
  const runtime = {
    argv: process.argv.slice(2),
    readCommandLine,
    env,
    // Opened on first use: each takes a millisecond.
    get stdin() {
      usedStdin = process.stdin;
      return usedStdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    stdinFd: 0,
    cwd: firstAbsolute(process.cwd),
    home,
    platform: process.platform,
    pid: process.pid,
    userId: process.geteuid ? process.geteuid() : undefined,
    host: hostname(),
    node: process.versions.node,
    isRunning,
    get processScope() {
      return readProcessScope();
    },
    processStart,
    isDetached,
    isStdoutClosed,
    now: Date.now,
    elapsed: () => Number(process.hrtime.bigint()) / 1e6,
    uptime: () => uptime() * 1000,
    after,
    randomBytes,
    keychain: [process.execPath, `${__dirname}/keychain.js`],
    docs: docsDirectory(),
    onSignal,
    onUncaughtError,
    stopProcess: () => process.kill(process.pid, 'SIGSTOP'),
  };
  // Each Tab of a shell starts this, which loads no command and opens no stream.
  if (process.argv[2] === '__complete') {
    builtin('fs').writeSync(1, await (await import('../dist/complete.js')).complete(runtime));
    process.exit(0);
  }
  // Built from src/main.ts.
  const { main } = await import('../dist/main.js');
  const end = await main(runtime);
  // All output is flushed by now. Open handles, such as a stdin that was not read to its end, must not keep the process.
  if (typeof end === 'number') process.exit(end);
  endBySignal(end.signal);
}

// Ends the process by the signal itself, which is what a shell expects of an interrupted program and which waits for no
// blocked thread. Where the signal has no effect (process 1 of a container, Windows), and for signals that would write
// a core file, the exit code is 128+n.
function endBySignal(signal) {
  restoreTerminal();
  const number = builtin('os').constants.signals[signal];
  const dumpsCore = [
    'SIGQUIT',
    'SIGILL',
    'SIGTRAP',
    'SIGABRT',
    'SIGBUS',
    'SIGFPE',
    'SIGSEGV',
    'SIGXCPU',
    'SIGXFSZ',
    'SIGSYS',
  ];
  if (process.platform !== 'win32' && process.pid !== 1 && !dumpsCore.includes(signal)) {
    process.removeAllListeners(signal);
    try {
      process.kill(process.pid, signal);
    } catch {}
  }
  process.exit(128 + number);
}

// A prompt reads keys in raw mode, without echo, and a signal can end the program while it does.
function restoreTerminal() {
  try {
    const { isRaw } = usedStdin || {};
    if (isRaw) usedStdin.setRawMode(false);
  } catch {}
}

// When it exits, Node sets the modes of each terminal on stdin, stdout and stderr to those at its start. It aborts if the
// terminal is closed, and undoes what a command such as stty did. Node leaves a descriptor alone that is closed.
function closeTerminals() {
  const { isatty } = builtin('tty');
  const { closeSync, fstatSync } = builtin('fs');
  for (const fd of [0, 1, 2]) {
    try {
      // A closed terminal is a device that is not recognized as a terminal.
      if (isatty(fd) || fstatSync(fd).isCharacterDevice()) closeSync(fd);
    } catch {}
  }
}

// Static text needs neither the loader of ES modules nor a stream. When writing fails, the full program reports why.
function hasPrintedStaticText() {
  const texts = require('../dist/root.json');
  const { fstatSync, writeSync } = builtin('fs');
  const [word, ...more] = process.argv.slice(2);
  if (more.length > 0 || !Object.hasOwn(texts, word)) return false;
  try {
    // Before anything else: after fstat has seen a pipe, Node 20 loads packages behind symbolic links by the wrong path.
    const text = texts[word].replace('{docs}', docsDirectory());
    // Help depends on the width, and has styles on a terminal.
    const isFixed = text.split('\n').length === 2 || (!fstatSync(1).isCharacterDevice() && !process.env.COLUMNS);
    return isFixed && writeSync(1, text) === Buffer.byteLength(text);
  } catch {
    return false;
  }
}

function docsDirectory() {
  return builtin('path').resolve(__dirname, '../docs');
}

// Avoids the loader of ES modules, which would evaluate every export of a built-in module and load more of them.
function builtin(name) {
  return process.getBuiltinModule(`node:${name}`);
}

// From a pool: a service needs some for each request.
let randomPool = Buffer.alloc(0);
function randomBytes(count) {
  if (randomPool.length < count) randomPool = readRandomBytes(Math.max(count, 1024));
  const bytes = randomPool.subarray(0, count);
  randomPool = randomPool.subarray(count);
  return bytes;
}

// Reads the system's random source: node:crypto, which uses the same one, takes 4 to 6 ms to load.
function readRandomBytes(count) {
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

// Node 22 and later cache compiled code; without the cache a start takes a sixth longer. A home that belongs to another
// user is not used, because that user could have planted code there.
function enableCodeCache(home) {
  const { enableCompileCache } = builtin('module');
  const { isAbsolute, join } = builtin('path');
  try {
    if (!enableCompileCache || builtin('fs').statSync(home).uid !== (process.getuid ? process.getuid() : undefined))
      return;
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
    // Signal 0 checks whether a process exists.
    process.kill(pid, 0);
    // A process that ended stays a zombie until its parent collects its exit code.
    return processStat(pid)[0] !== 'Z';
  } catch (error) {
    return error.code === 'EPERM';
  }
}

// Containers of one machine have the same boot, and number their processes apart.
function readProcessScope() {
  const { readFileSync, readlinkSync } = builtin('fs');
  try {
    const [, namespace] = /\[(\d+)\]/.exec(readlinkSync('/proc/self/ns/pid'));
    return `${namespace}@${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`;
  } catch {
    return undefined;
  }
}

// In ticks since the system started.
function processStart(pid) {
  return processStat(pid)[19];
}

// The fields of /proc/<pid>/stat from the third on; none where there is no such file. The second, the program name in
// parentheses, may contain spaces.
function processStat(pid) {
  try {
    return builtin('fs')
      .readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return [];
  }
}

// Node opens /dev/null for reading and writing where stdout is closed. So do the programs that start svc and discard its
// output (subprocess.DEVNULL of Python, 'ignore' of Node); a shell opens it for writing only.
function isStdoutClosed() {
  const { fstatSync, readFileSync, statSync } = builtin('fs');
  try {
    const [, flags] = /^flags:\s+([0-7]+)/m.exec(readFileSync('/proc/self/fdinfo/1', 'utf8')) || [];
    return Number.parseInt(flags, 8) % 4 === 2 && fstatSync(1).rdev === statSync('/dev/null').rdev;
  } catch {
    return false;
  }
}

// A shell with a terminal started it, and no stream shows anything there.
function isDetached() {
  const { closeSync, openSync } = builtin('fs');
  try {
    if ([0, 1, 2].some(builtin('tty').isatty)) return false;
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

function readCommandLine() {
  try {
    return builtin('fs').readFileSync('/proc/self/cmdline');
  } catch {
    return undefined;
  }
}

function onSignal(listener, signals = ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
}
