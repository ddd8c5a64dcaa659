import { StoreError } from '../store-error.ts';
import type { PostgresDatabase } from './postgres-database.ts';

/** Resolves when the database can be read and written. Throws StoreError, also for a read-only one; `label` names it. */
export async function checkPostgresHealth(database: PostgresDatabase, label: string): Promise<void> {
  const [row] = await database.query(async (client) => client`show transaction_read_only`);
  if (row?.transaction_read_only === 'on') throw new StoreError('lost', `the database at ${label} is read-only`);
}
