import { afterAll, beforeAll } from 'vitest';
import { noPostgres, type PostgresServer, postgresServer } from './postgres.ts';

/** A server for the tests of a file, from its first test to its last; where it cannot run, `reason` says why, and stderr what is skipped. */
export function filePostgres(tests: string) {
  const reason = noPostgres();
  if (reason) process.stderr.write(`skipped: ${tests}: ${reason}\n`);
  let running: PostgresServer | undefined;
  beforeAll(async () => {
    if (!reason) running = await postgresServer();
  }, 120_000);
  afterAll(() => running?.remove());
  return { reason, server: () => running };
}
