import { dirname, join } from 'node:path';
import type { PostgresAddress } from '../config/postgres-address.ts';
import { Failure } from '../errors.ts';
import { withFileFailure } from '../files/file-errors.ts';
import { openAnonymousFile } from '../files/file-replacement.ts';
import type { TrustOptions } from '../files/trusted-file.ts';
import type { Send } from '../http/message.ts';
import { collectBody } from '../http/size-limits.ts';
import type { Transport } from '../http/transport.ts';
import type { Runtime } from '../runtime.ts';
import type { AcceptedCredentials } from './authenticate-request.ts';
import { createLocalService, type ObservedService } from './create-local-service.ts';
import type { ServiceContext } from './service-context.ts';
import { createEmbeddedStore, deleteAbandonedTrajectories } from './store/embedded-store.ts';
import { openStore } from './store/open-store.ts';
import type { ServiceStore } from './store/service-store.ts';

export interface LocalServiceOptions
  extends Pick<ServiceContext, 'upstream' | 'models' | 'onRequestEnd' | 'faults' | 'checksRules' | 'login'> {
  readonly databaseFile: string;
  /** The data if it is open already; the local service closes it. */
  readonly store?: ServiceStore | undefined;
  /** The database server to use instead; the database file then only says where large bodies are staged. */
  readonly postgres?: PostgresLogin | undefined;
  /** The credentials it accepts; without them it accepts every request. */
  readonly credentials?: AcceptedCredentials | undefined;
  /** As of ServiceContext; without it only the limits of the operations hold. */
  readonly maxBodyBytes?: number | undefined;
  readonly trust?: TrustOptions | undefined;
}

export interface PostgresLogin {
  readonly address: PostgresAddress;
  readonly password: string | undefined;
}

export type ServiceRuntime = Pick<Runtime, 'now' | 'randomBytes'> & Partial<Pick<Runtime, 'elapsed'>>;

const INSUFFICIENT_STORAGE_STATUS = 507;
const MAX_ERROR_BYTES = 64 * 1024;

export function databaseFileIn(directory: string): string {
  return join(directory, 'svc.db');
}

export interface LocalService extends ObservedService {
  readonly close: () => Promise<void>;
}

/** Opens the local service on its database; its `send` is called like the network. */
export async function openLocalService(
  {
    databaseFile,
    postgres,
    trust,
    credentials,
    store: openedStore,
    maxBodyBytes = Number.POSITIVE_INFINITY,
    ...options
  }: LocalServiceOptions,
  { now, randomBytes, elapsed = now }: ServiceRuntime,
): Promise<LocalService> {
  const store = openedStore ?? (await openServiceStore({ databaseFile, postgres, trust }, now()));
  const context = { ...options, store, directory: dirname(databaseFile), maxBodyBytes, now, randomBytes, elapsed };
  return { ...createLocalService(context, credentials), close: store.close };
}

export async function openServiceStore(
  { databaseFile, postgres, trust }: Pick<LocalServiceOptions, 'databaseFile' | 'postgres' | 'trust'>,
  now: number,
): Promise<ServiceStore> {
  if (!postgres) {
    const database = await openStore(databaseFile, trust);
    await deleteAbandonedTrajectories(now, database);
    return createEmbeddedStore(database);
  }
  // Training jobs are staged in it, even if the database is elsewhere.
  const directory = dirname(databaseFile);
  const hint = 'set SVC_DATA_DIR to a directory that svc can write';
  const file = await withFileFailure(`write to ${directory}`, () => openAnonymousFile(directory), { hint });
  await file.close();
  const { openPostgresStore } = await import('./store/postgres/postgres-store.ts');
  return openPostgresStore(postgres.address, postgres.password);
}

/** The local service within this process (`--local`). Its disk is the user's: a full one throws Failure `local_file`. */
export async function openInProcessService(
  databaseFile: string,
  runtime: ServiceRuntime & Pick<Runtime, 'userId'>,
  warn: TrustOptions['warn'],
): Promise<Transport> {
  const trust = { userId: runtime.userId, warn };
  const { send: sendLocally, close } = await openLocalService({ databaseFile, trust }, runtime);
  const send: Send = async (request) => {
    const response = await sendLocally(request);
    if (response.status !== INSUFFICIENT_STORAGE_STATUS) return response;
    await collectBody(response.body, MAX_ERROR_BYTES);
    throw new Failure('local_file', `could not write to ${databaseFile}: the disk is full`, {
      hint: 'free some space, or set SVC_DATA_DIR to a directory on another disk',
      applied: 'no',
    });
  };
  return { send, close };
}
