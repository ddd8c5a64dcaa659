// Calls the keychain of the operating system, in a process of its own: if the system's service hangs, the library
// blocks the calling thread, and even the exit of the process. The parent process can end this one.
//
// stdin: {"action":"set"|"get"|"remove","account":"...","secret":"..."}; stdout, for get: the secret. Exit code 1 means
// a failure, 3 that there is no such entry, 4 that the library, which is optional, is not installed.
process.exitCode = 1;
answer().catch(() => {});

async function answer() {
  const { text } = await import('node:stream/consumers');
  const { Entry } = await import('@napi-rs/keyring').catch(() => process.exit(4));
  const { action, account, secret } = JSON.parse(await text(process.stdin));
  // Not the kernel's keyring, which the library falls back to: it is lost at the next start.
  const entry = new Entry('svc-cli', account, { linux: { store: 'secret-service' } });
  if (action === 'set') entry.setPassword(secret);
  if (action === 'remove') entry.deletePassword();
  const found = action === 'get' ? entry.getPassword() : '';
  if (typeof found === 'string') process.stdout.write(found);
  process.exitCode = typeof found === 'string' ? 0 : 3;
}
