import { Buffer } from 'node:buffer';
import type { ExchangeSignal } from '../../../http/message.ts';
import type { JobRecord } from '../service-store.ts';
import type { StagedTrajectory } from '../staging-file.ts';
import type { PostgresDatabase } from './postgres-database.ts';

const MAX_INSERT_BYTES = 1024 * 1024;
const MAX_INSERT_ROWS = 500;

/** Stores a job with its trajectories in one transaction, in memory for about a MiB of them or for the largest one. */
export async function savePostgresJob(
  job: JobRecord,
  trajectories: () => Iterable<StagedTrajectory>,
  signal: ExchangeSignal | undefined,
  database: PostgresDatabase,
): Promise<void> {
  await database.transaction(async (client) => {
    await client`
      insert into svc.jobs (id, model_id, experimental_config, created_at)
      values (${job.id}, ${job.modelId}, ${job.config}, ${job.createdAt})`;
    for (const rows of trajectoryBatches(trajectories())) {
      signal?.throwIfAborted();
      const [groups, indexes, texts] = [
        rows.map(([group]) => group),
        rows.map(([, index]) => index),
        rows.map(([, , text]) => text),
      ];
      await client`
        insert into svc.trajectories (job_id, group_index, trajectory_index, trajectory)
        select ${job.id}::text, * from unnest(${groups}::integer[], ${indexes}::integer[], ${texts}::text[])`;
    }
  });
}

type TrajectoryRow = readonly [group: number, index: number, text: string];

function* trajectoryBatches(trajectories: Iterable<StagedTrajectory>): Generator<readonly TrajectoryRow[]> {
  let rows: TrajectoryRow[] = [];
  let bytes = 0;
  for (const { group, index, bytes: trajectory } of trajectories) {
    rows.push([group, index, Buffer.from(trajectory.buffer, trajectory.byteOffset, trajectory.length).toString()]);
    bytes += trajectory.length;
    if (bytes < MAX_INSERT_BYTES && rows.length < MAX_INSERT_ROWS) continue;
    yield rows;
    [rows, bytes] = [[], 0];
  }
  if (rows.length > 0) yield rows;
}
