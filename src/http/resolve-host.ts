import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';

// glibc and musl ship it; elsewhere Node resolves names itself.
const GETENT = '/usr/bin/getent';

/**
 * Resolves host names until the signal. The thread in which Node resolves them cannot be ended, and a DNS server that
 * drops packets would hold up the exit. `getent` asks the same sources in a process that can be killed.
 */
export function createLookup(signal: AbortSignal): LookupFunction {
  return (hostname, options, callback) => {
    if (/^localhost$|\.localhost$|^-/.test(hostname)) return lookup(hostname, options, callback);
    runGetent(hostname, signal).then(
      (addresses) => {
        const [first] = addresses;
        if (signal.aborted) callback(signal.reason, '');
        // Node reports why there is no address, in about the time that getent took.
        else if (!first) lookup(hostname, options, callback);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      () => lookup(hostname, options, callback),
    );
  };
}

async function runGetent(hostname: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const { execFile } = await import('node:child_process');
  const output = await new Promise<string>((resolve) => {
    execFile(GETENT, ['ahosts', hostname], { signal, killSignal: 'SIGKILL' }, (_, stdout) => resolve(stdout));
  });
  return output.split('\n').flatMap((line) => {
    const [, address = ''] = /^(\S+)\s+STREAM\b/.exec(line) ?? [];
    return isIP(address) === 0 ? [] : [{ address, family: isIP(address) }];
  });
}
