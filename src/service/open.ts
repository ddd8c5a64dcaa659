import { dirname, join } from 'node:path';
import type { Line } from '../http/network.ts';
import type { Runtime } from '../runtime.ts';
import { sharedCommits } from './commits.ts';
import type { Credentials } from './credentials.ts';
import { createService } from './service.ts';
import { openStore } from './store.ts';
import type { Upstream } from './upstream.ts';

export interface ServiceOptions {
  /** The database file. */
  readonly data: string;
  /** Whom it lets in; everybody without it. */
  readonly credentials?: Credentials | undefined;
  readonly upstream?: Upstream | undefined;
}

/** The database file in a data folder. */
export function dataFile(folder: string): string {
  return join(folder, 'svc.db');
}

/** Opens the local service on its database; as a line it can be called like the network. */
export async function openService(
  { data, credentials, upstream }: ServiceOptions,
  { now, randomBytes }: Pick<Runtime, 'now' | 'randomBytes'>,
): Promise<Line> {
  const store = await openStore(data);
  const world = { store, commit: sharedCommits(store), folder: dirname(data), now, randomBytes, upstream };
  return { send: createService(world, credentials), close: async () => store.close() };
}
