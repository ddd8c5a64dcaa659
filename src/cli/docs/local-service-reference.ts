import { serviceLimits } from '../../local-service/limits.ts';
import { allOperations } from '../../operations/all-operations.ts';
import { formatBinaryBytes } from '../../output/byte-size.ts';
import { markdownTable } from './markdown-table.ts';

/** The section of the reference about `svc serve` and `--local`: paths, limits, durability and backup, as Markdown. */
export function localServiceSection(): string {
  return [
    '## The local service',
    '`svc serve` binds it to 127.0.0.1; `--local` calls it in the same process. Beside the operations it has these paths:',
    markdownTable(
      ['path', 'credentials', 'response'],
      [
        ['`GET /v1/models`', 'Bearer', 'the models of the upstream server, else `svc-local`'],
        ['`GET /`', 'none', 'a page for people, with the files it needs'],
        ['`GET /page/…`', 'Basic', 'the data of that page'],
        ['`GET /healthz`', 'none', '200 while the data can be used, else 503'],
        ['`GET /metrics`', 'Basic', 'counters and durations of requests in the text format of Prometheus'],
      ],
    ),
    'It refuses requests with a `Host` that is not loopback, from another origin or another site, and compressed bodies (415). Its limits:',
    markdownTable(['limit', 'value'], limitRows()),
    'Each response to a write is sent only after the data is on the disk. Writes that arrive together share one commit. The embedded database uses a write-ahead log with full synchronization: `svc.db-wal` and `svc.db-shm` exist beside it while it is in use, and after a crash the first of them holds committed data. Do not write to it with other programs: checkpoints of theirs can lose data. While a training job is stored, other requests are served; a job is visible only when it is complete.',
    'To back up the embedded database while it is in use, run `sqlite3 svc.db ".backup copy.db"`. Copying the file alone is safe only while no process has it open and there is no `svc.db-wal` with data beside it. For PostgreSQL, run `pg_dump --schema=svc postgres://user@host/database > svc.sql`, and restore into an empty database with `psql --quiet -f svc.sql postgres://user@host/copy`.',
  ].join('\n\n');
}

function limitRows(): string[][] {
  const seconds = (milliseconds: number): string => `${milliseconds / 1000} s`;
  const { headMs, bodyMs, drainMs, minBodyBytesPerSecond, checkedDatabaseBytes } = serviceLimits;
  return [
    ...allOperations.map(({ path, largestBody }) => [
      `body of \`${path}\``,
      Number.isFinite(largestBody) ? formatBinaryBytes(largestBody) : 'none',
    ]),
    ['headers of a request', seconds(headMs)],
    ['silence within a body', seconds(bodyMs)],
    ['rate of a body', `at least ${minBodyBytesPerSecond} bytes per second over ${seconds(bodyMs)}`],
    ['connections', String(serviceLimits.connections)],
    [
      'requests in flight after SIGTERM',
      `${seconds(drainMs)}, or \`--drain\`; the same time again for clients that still read`,
    ],
    ['integrity check when the data is opened', `databases of up to ${formatBinaryBytes(checkedDatabaseBytes)}`],
    ['`n` of the built-in model', `at most ${serviceLimits.choices}`],
    ['`min_tokens` of the built-in model', `at most ${serviceLimits.minTokens}`],
    ['`top_logprobs` and `prompt_logprobs` of the built-in model', `at most ${serviceLimits.topLogprobs}`],
    ['choices × tokens × (1 + stops + alternatives)', `at most ${serviceLimits.tokenVisits}`],
  ];
}
