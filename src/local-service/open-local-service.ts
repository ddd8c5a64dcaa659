import { dirname, join } from 'node:path';
import type { Transport } from '../http/transport.ts';
import type { Runtime } from '../runtime.ts';
import type { AcceptedCredentials } from './authenticate-request.ts';
import { createLocalService } from './create-local-service.ts';
import { createGroupCommit } from './store/group-commit.ts';
import { openStore } from './store/open-store.ts';
import type { Upstream } from './upstream.ts';

export interface LocalServiceOptions {
  /** The database file. */
  readonly databaseFile: string;
  /** Whom it lets in; everybody without it. */
  readonly credentials?: AcceptedCredentials | undefined;
  readonly upstream?: Upstream | undefined;
}

/** The database file in a data folder. */
export function databaseFileIn(directory: string): string {
  return join(directory, 'svc.db');
}

/** Opens the local service on its database; as a line it can be called like the network. */
export async function openLocalService(
  { databaseFile, credentials, upstream }: LocalServiceOptions,
  { now, randomBytes }: Pick<Runtime, 'now' | 'randomBytes'>,
): Promise<Transport> {
  const store = await openStore(databaseFile);
  const context = {
    store,
    commit: createGroupCommit(store),
    directory: dirname(databaseFile),
    now,
    randomBytes,
    upstream,
  };
  return { send: createLocalService(context, credentials), close: async () => store.close() };
}
