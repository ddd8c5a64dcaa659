import { noAddress } from '../../call/destination.ts';
import { baseUrlFor, type Chosen, type Host } from '../../profiles/resolve.ts';
import type { Runtime } from '../../runtime.ts';
import type { Question } from './examination.ts';
import { type Finding, found } from './finding.ts';

/** The base address of a kind of operations. */
export interface Address {
  readonly host: Host;
  readonly url: URL;
}

/** The base addresses that are set; one that is none becomes a finding, and so does it where there is not a single one. */
export async function addressesOf(
  { wantedFor }: Question,
  { isLocal, profile }: Chosen,
  env: Runtime['env'],
  findings: Finding[],
): Promise<Address[]> {
  if (isLocal) return [];
  const before = findings.length;
  const hosts: readonly Host[] = ['trace', 'chat', 'train'];
  const urls = await Promise.all(
    hosts.map((host) => found(() => baseUrlFor(host, wantedFor(host), env, profile), findings)),
  );
  const addresses = hosts.flatMap((host, at) => (urls[at] ? [{ host, url: urls[at] }] : []));
  if (addresses.length === 0 && findings.length === before) {
    const { message, code, facts } = noAddress();
    findings.push({ message, code, hint: facts.hint });
  }
  return addresses;
}
