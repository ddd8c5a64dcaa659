// Calls the keychain of the operating system, in a process of its own: if the system's service hangs, the library
// blocks the calling thread, and even the exit of the process. The parent process can end this one.
//
// stdin: {"action":"set"|"get"|"remove","account":"...","secret":"..."}; stdout, for get: the secret. Exit code 1 means
// a failure, 3 that there is no such entry.
process.exitCode = 1;
answer().catch(() => {});

async function answer() {
  const [{ text }, { Entry }] = await Promise.all([import('node:stream/consumers'), import('@napi-rs/keyring')]);
  const { action, account, secret } = JSON.parse(await text(process.stdin));
  // Not the kernel's keyring, which the library falls back to: it is lost at the next start.
  const entry = new Entry('svc-cli', account, { linux: { store: 'secret-service' } });
  if (action === 'set') entry.setPassword(secret);
  if (action === 'remove') entry.deletePassword();
  const found = action === 'get' ? entry.getPassword() : '';
  if (typeof found === 'string') process.stdout.write(found);
  process.exitCode = typeof found === 'string' ? 0 : 3;
}
