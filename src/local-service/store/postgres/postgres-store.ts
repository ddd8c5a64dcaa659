import type { PostgresAddress } from '../../../config/postgres-address.ts';
import { errorMessage, Failure } from '../../../errors.ts';
import { samplePayloads } from '../payload-sample.ts';
import type { CallRecord, FeedbackRecord, RowQuery, ServiceStore, StoredRow } from '../service-store.ts';
import { createSharedBatches } from '../shared-batches.ts';
import { checkPostgresHealth } from './check-health.ts';
import { openPostgresDatabase, type PostgresClient } from './postgres-database.ts';
import { migratePostgres } from './postgres-schema.ts';
import { replaceFeedbackRecords } from './replace-feedback.ts';
import { saveCalls } from './save-calls.ts';
import { savePostgresJob } from './save-job.ts';

/** Opens the store of the local service in a PostgreSQL database. Throws Failure `local_file` if it cannot be used. */
export async function openPostgresStore(address: PostgresAddress, password: string | undefined): Promise<ServiceStore> {
  const database = openPostgresDatabase(address, password);
  try {
    await migratePostgres(database, address.label);
  } catch (error) {
    await database.close();
    if (error instanceof Failure) throw error;
    const reason = errorMessage(error);
    throw new Failure(
      'local_file',
      reason.includes(address.label) ? reason : `cannot open ${address.label}: ${reason}`,
      {
        hint: 'check that the database runs, and set PGPASSWORD or PGPASSFILE if it asks for a password',
      },
    );
  }
  const saveCall = createSharedBatches<CallRecord, string>({
    write: (calls) => saveCalls(calls, database),
    sizeOf: ({ start }) => start.length,
  });
  const replaceFeedback = createSharedBatches<FeedbackRecord, true>({
    write: (records) => replaceFeedbackRecords(records, database),
    sizeOf: ({ record, payload }) => record.length + payload.length,
  });
  return {
    saveCall,
    replaceFeedback: async (record, signal) => void (await replaceFeedback(record, signal)),
    samplePayloads: (query) =>
      database.transaction(async (client) => {
        await client`set transaction isolation level repeatable read, read only`;
        const queries = samplePayloads(query);
        let step = queries.next([]);
        while (!step.done) step = queries.next(await readRows(step.value, client));
        return step.value;
      }),
    saveJob: (job, trajectories, signal) => savePostgresJob(job, trajectories, signal, database),
    saveChat: ({ id, request, response, status, createdAt, durationMs }) =>
      database.query(
        async (client) =>
          void (await client`insert into svc.chats
            values (${id}, ${request}, ${response}, ${status}, ${createdAt}, ${durationMs})`),
      ),
    readRows: (query) => database.query((client) => readRows(query, client)),
    checkHealth: () => checkPostgresHealth(database, address.label),
    close: database.close,
  };
}

async function readRows({ sql, values }: RowQuery, client: PostgresClient): Promise<readonly StoredRow[]> {
  let count = 0;
  const text = sql.replaceAll('@', 'svc.').replaceAll('?', () => `$${++count}`);
  return client.unsafe(text, [...values]);
}
