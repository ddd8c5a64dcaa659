import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './process.ts';
import { type Call, callsOf, type Fault, withFault } from './strace.ts';
import { temporaryDirectory } from './svc.ts';

const login = ['auth', 'login', '--base-url', 'https://svc.test', '--token-stdin', '-q'];

// Those of other files vary at random.
const names = ['config.json', 'config.json.next', 'config.json.lock'];

/** A home with a store, and the calls on files that a save in it makes. */
export async function savedHome(): Promise<{ home: string; calls: Call[] }> {
  const home = temporaryDirectory();
  await run(login, { cwd: home, stdin: 'old-secret' });
  return { home, calls: callsOf(login, 'new-secret', home, join(home, 'config'), names) };
}

/**
 * Saves another secret with a fault, and runs the next command. Returns what is wrong then: a store that is neither
 * the old nor the new one, a success that did not save, a next command that fails, a secret left anywhere else.
 */
export async function wrongAfter(fault: Fault, call: Call, home: string): Promise<string[]> {
  const before = readStore(home);
  const secret = before.includes('old-secret') ? 'new-secret' : 'old-secret';
  const { status, stderr } = withFault(call, fault, login, secret, home);
  const after = readStore(home);
  const next = await run(['profile', 'list', '-q'], { cwd: home });
  const isNew = after === before.replace(/(old|new)-secret/, secret);
  const others = readdirSync(join(home, 'config')).filter((name) => name !== 'config.json');
  return [
    ...(after === before || isNew ? [] : [`the store holds ${after}`]),
    ...(status === 0 && !isNew ? ['it said that it was saved'] : []),
    // A fault may hit Node or a library before svc has begun; that is not a bug in svc.
    ...(stderr.includes('a bug in svc') && !stderr.includes('node_modules') ? [stderr] : []),
    ...(next.code === 0 && next.stdout.includes('https://svc.test') ? [] : [`the next command says ${next.stderr}`]),
    ...others.filter((name) => readFileSync(join(home, 'config', name), 'utf8').includes('secret')),
  ].map((wrong) => `${fault} at ${call.name} ${call.count}: ${wrong}`);
}

function readStore(home: string): string {
  return readFileSync(join(home, 'config', 'config.json'), 'utf8');
}
