import { type Setting, type SettingKind, settings } from '../src/config/settings.ts';
import { exitCodes, safetyCauses } from '../src/errors.ts';
import { factRows } from '../src/operations/received-facts.ts';
import { holds } from '../src/reports/batch/line-facts.ts';
import { markdownTable } from './markdown-tables.ts';

/** The sections of the reference about formats: errors as JSON, result lines and journal of a batch, and profiles. */
export function fileFormatSections(): string[] {
  return [
    '## Error objects\n\nWith `--error-format json`, each line on stderr is a JSON object: `{"error":{...}}` for a failure, `{"level":"note","message":"..."}` for other messages. The level may also be `warning`, `error` for a line that explains a failure, `detail` with `--verbose`, or `line` for what a flag requested, such as `--dry-run`; `stats` has the figures of `--stats` in place of a message. An error has these fields:',
    markdownTable(['field', 'meaning'], errorRows),
    '## Batch result lines\n\n`--batch` writes one JSON object per input line. If a line has several results, their order means nothing: a higher `revision` counts before a lower one, a success before a failure, and a result that was applied before one that was not.',
    markdownTable(['field', 'meaning'], resultRows),
    '## Request history\n\n`svc log --json` lists the requests that were recorded, and `svc log show N` prints one of them. With `--error-format json`, the line of `--stats` has the fields of the second table.',
    markdownTable(['field', 'meaning'], historyRows),
    markdownTable(['field of `--stats`', 'meaning'], statsRows),
    '## Batch journal\n\n`FILE.journal` is the record of what a batch with `-o FILE` sent: one JSON object per line, mode 0600, some 60 bytes per line of the input. It stays when the run is complete. Keep both files together to continue a run with `--resume`; a missing journal makes every line without a result unknown.',
    markdownTable(['record', 'meaning'], journalRows),
    '## Index of a batch input\n\n`svc batch index FILE` writes `FILE.index`: one JSON object per line, each with 100 bytes. The first has the `size` of the file. Each other one is for a block, of 1 MiB in files from 16 GiB on and down to 4 KiB in small ones: `line`, the number of the line that its first byte belongs to, and its `sha256`. The last one is for the end: the number after the last line feed, and a digest of the digests.',
    '## Profile file\n\n`config.json` in `SVC_CONFIG_DIR` (default: `svc` in the configuration directory of the user), mode 0600: an object with `current`, the name of the default profile, and `profiles`, an object with one object per profile. Change it with `svc profile` and `svc auth`.',
    markdownTable(['key', 'type', 'meaning'], profileRows()),
    'An origin is the scheme, host and port of a URL, such as `https://api.example.com`. svc sends credentials and headers of a profile only to the origins that the profile had when they were stored.',
  ];
}

const failureCodes = Object.entries(exitCodes).flatMap(([name, { code }]) =>
  code === 0 ? [] : [`\`${name}\` (${code})`],
);

const causes = Object.entries(safetyCauses).map(([name, meaning]) => `\`${name}\` (${meaning})`);

function receivedRows(place: Parameters<typeof factRows>[0]): string[][] {
  return factRows(place).map(([name, meaning]) => [`\`${name}\``, meaning]);
}

const errorRows = [
  ['`schema_version`', '`1`'],
  ['`code`', `Kind of failure, one for each exit code: ${failureCodes.join(', ')}`],
  ['`cause`', `The check that stopped svc, always with \`safety_check\`: ${causes.join('; ')}`],
  ['`stopped`', 'Why a batch sent no more lines, such as an outage, a limit or a signal'],
  ['`message`', 'What went wrong, and where'],
  ['`hint`', 'The next step, if there is one'],
  ['`exit_code`', 'See [exit codes](../exit-codes.md)'],
  ['`status`', 'HTTP status, if the service responded'],
  ['`url`', 'URL of the request'],
  ...receivedRows('error'),
  ['`retryable`', 'True if the same command is safe to run again and can succeed'],
  ['`applied`', '`yes`, `no` or `unknown`, over all attempts'],
  ['`phase`', 'How much of the last request was sent: `nothing`, `part` or `all`'],
  ['`bytes_sent`', 'Bytes of its body that were sent'],
  ['`attempts`', 'Number of attempts, of a batch those of all lines; 0 if svc made none'],
  ['`ids`', 'Known ids of the record, by name'],
  [
    '`issues`',
    'Findings in the body, or changes of a feedback schema: `path` of the field, `at` (flag, or file:line:column) and `message`',
  ],
];

// In the order in which they are written.
const resultRows = [
  ['`line`', 'Number of the input line, from 1'],
  ['`id`', 'The `custom_id` of the line, or the id in its body; null without one'],
  ['`status`', 'HTTP status; null if there was no response'],
  ['`exit_code`', 'Exit code of the request, see [exit codes](../exit-codes.md)'],
  ['`applied`', '`yes`, `no` or `unknown`'],
  ['`revision`', 'Only for a result that takes an earlier one back, or follows such a result: 1 or more'],
  ...receivedRows('result'),
  ['`response`', 'The response, with every digit; text if it is not JSON'],
  ['`error`', 'Only for failed lines: the [error object](#error-objects)'],
  [
    '`expectations`',
    'Only with `--expect-*`: an array with `expect` (`text`, `not`, `schema`, `finish` or `max_latency`), `value`, `passed`, and `actual` if it failed',
  ],
  ['`warnings`', 'Only if there are any: an array of reasons why the response may belong to another request'],
  ['`attempts`', 'Number of attempts'],
  ['`ms`', 'Duration in milliseconds, retries included'],
  ['`ended_at`', 'Time of the response or the failure, in UTC; only for lines that were sent'],
  [
    '`held_by`',
    `What the request waited for before it was sent: ${Object.keys(holds)
      .map((name) => `\`${name}\``)
      .join(', ')}`,
  ],
  [
    '`checkpoint`',
    'For `--resume` and `svc batch merge`: `input` (digest of the input line), `run` (id of the run, the same when it is resumed), `operation` (path of the operation), `shard` (such as `3/10`) and, for a line made from a table, `row` (digest of the cells of its row)',
  ],
];

const historyRows = [
  ['`time`', 'Start of the request, in UTC'],
  ['`command`, `url`', 'The command, and the base URL'],
  ['`ms`, `status`, `exit_code`, `applied`', 'As in result lines'],
  ['`model`', 'Model of the body or the response, if there is one'],
  ['`ids`', 'Ids of the request, and of the response, by name'],
  ['`request`, `response`', 'Only if bodies are kept: the body without secrets, and the response'],
  ...receivedRows('history'),
];

const statsRows = [
  ['`first_token_ms`', 'Milliseconds until the first output of a stream, else null'],
  ['`tokens_per_second`', 'Tokens of the response per second of its generation; null if unknown'],
  ['`ms`, `retries`', 'Milliseconds in all, and attempts after the first'],
  ...receivedRows('stats'),
];

const journalRows = [
  [
    '`{"run":…,"operation":…,"shard":…,"part":{…},"base_url":…,"values":{…}}`',
    'The batch: `base_url` and the `values` of flags and settings are salted digests. `"journal_lost":true` if earlier records were lost. `part`, for a shard of a regular file: the `size` of the file, the lines that begin from byte `first` up to byte `last`, the number of the first `line`, how many `lines`, and their `digest`',
  ],
  [
    '`{"sending":7,"input":…,"at":…}`',
    'Durable before line 7 is sent: the digest of the input line, and the time from which its ids and times are made. `was` is the earlier digest of a changed line',
  ],
  ['`{"empty":2}`', 'How many lines of the part are empty, after it was read to its end'],
  ['`{"withdrawn":7,"input":…}`', 'Nothing of the last `sending` of line 7 was applied'],
];

function profileRows(): string[][] {
  const stored: readonly Setting[] = settings.filter((setting: Setting) => setting.isStored);
  return [
    ...stored.map(({ name, kind, summary }) => [
      `\`${name}\``,
      storedTypes[kind] ?? 'string',
      storedSummaries[name] ?? summary,
    ]),
    ['`password_key`, `token_key`', 'string', 'Entry of the keychain that holds the password or token instead'],
    ['`basic_origins`, `bearer_origins`', 'array of string', 'Origins of the password and of the token'],
    ['`header_origins`', 'array of string', 'Origins of the headers'],
    [
      '`basic_command_origins`, `bearer_command_origins`',
      'array of string',
      'Origins of the credential command, for the password and for the token',
    ],
  ];
}

const storedTypes: { readonly [kind in SettingKind]?: string } = { command: 'array of string', headers: 'object' };

// Used if the summary is about the flag.
const storedSummaries: { readonly [name: string]: string } = {
  credential_command: 'Program that prints the password or token, and its arguments',
  headers: 'Headers to send with every request, by name',
};
