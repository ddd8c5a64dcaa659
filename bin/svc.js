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
  start();
}

async function start() {
  const [{ main }, { homedir, hostname, userInfo }, { randomBytes }, { fileURLToPath }] = await Promise.all([
    import('../dist/main.js'),
    import('node:os'),
    import('node:crypto'),
    import('node:url'),
  ]);
  const code = await main({
    argv: process.argv.slice(2),
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    cwd: process.cwd(),
    home: homeOf(homedir, userInfo),
    platform: process.platform,
    pid: process.pid,
    host: hostname(),
    node: process.versions.node,
    isRunning,
    now: Date.now,
    elapsed: () => performance.now(),
    after,
    randomBytes,
    keychain: [process.execPath, fileURLToPath(new URL('keychain.js', import.meta.url))],
    onSignal,
  });
  // All output has left by now; what may still be open, such as a stdin that was not read to its end, must not keep the process.
  process.exit(code);
}

// An empty or relative HOME would make the working folder a home; whoever has none at all has nothing stored.
function homeOf(homedir, userInfo) {
  if (homedir().startsWith('/') || process.platform === 'win32') return homedir();
  try {
    return userInfo().homedir;
  } catch {
    return '/nonexistent';
  }
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
