import type { Command } from '../../command.ts';
import { type Setting, settings } from '../../config/settings.ts';
import { exitCodes } from '../../errors.ts';
import { type Flag, flagForms } from '../../flag.ts';
import { serviceLimits } from '../../local-service/limits.ts';
import { simulatedFields, unenforcedConstraints } from '../../local-service/model/simulated-fields.ts';
import { allOperations } from '../../operations/all-operations.ts';
import type { Operation } from '../../operations/operation.ts';
import { formatBinaryBytes } from '../../output/byte-size.ts';
import { allCommands } from '../all-commands.ts';
import { usageTerm } from '../parse-command-line.ts';
import { exampleLine, flagTerm } from './help-text.ts';
import { environmentVariables } from './help-topics.ts';
import { fieldTable, markdownTable } from './markdown-tables.ts';

// A flag that at least this many commands have is described once.
const MIN_SHARING_COMMANDS = 3;

/** The reference documentation, as Markdown: every command, flag, field, exit code, variable and file format. */
export function referenceMarkdown(): string {
  return [
    '# svc reference',
    'Generated from the definitions by `npm run generate`, as are `svc help` and the manual pages.',
    `## Commands\n\n${allCommands.map(({ name, words }) => `- [svc ${name}](#svc-${words.join('-')})`).join('\n')}`,
    sharedFlagsSection(),
    ...allCommands.map(commandSection),
    `## Exit codes\n\n${markdownTable(
      ['exit', 'meaning', 'run again?'],
      Object.values(exitCodes).map(({ code, meaning, retry }) => [String(code), meaning, retry]),
    )}`,
    `## Environment\n\nAn empty variable counts as unset.\n\n${markdownTable(
      ['variable', 'purpose'],
      environmentVariables.map(([name, purpose]) => [`\`${name}\``, purpose]),
    )}`,
    ...fileSections(),
    localServiceSection(),
    localModelSection(),
    '',
  ].join('\n\n');
}

function commandSection(command: Command): string {
  const { operation } = command;
  const name = `svc ${command.name}`;
  return [
    `## ${name}`,
    `${command.summary}.`,
    ...(command.about ? [command.about] : []),
    `    ${name} [flags]${command.argument ? ` ${usageTerm(command.argument)}` : ''}`,
    ...(command.argument ? [`\`${command.argument.name}\`: ${command.argument.summary}.`] : []),
    ...flagsSection(command),
    ...(operation ? operationSections(operation) : []),
    '### Examples',
    command.examples.map((example) => `${example.why}:\n\n    ${exampleLine(example)}`).join('\n\n'),
  ].join('\n\n');
}

function isShared(flag: Flag): boolean {
  const owners = allCommands.filter(({ listedFlags }) => listedFlags.some((other) => isSameFlag(other, flag)));
  return owners.length >= MIN_SHARING_COMMANDS;
}

function isSameFlag(left: Flag, right: Flag): boolean {
  return left.summary === right.summary && flagTerm(left) === flagTerm(right);
}

function sharedFlagsSection(): string {
  const flags = allCommands.flatMap(({ listedFlags }) => listedFlags).filter(isShared);
  const distinct = flags.filter((flag, at) => flags.findIndex((other) => isSameFlag(other, flag)) === at);
  return `## Shared flags\n\nFlags that several commands have. Those about the service and the output may come before the command.\n\n${flagTable(distinct)}`;
}

function flagsSection({ listedFlags }: Command): string[] {
  const own = listedFlags.filter((flag) => !isShared(flag));
  const shared = listedFlags.filter(isShared);
  return [
    '### Flags',
    ...(own.length > 0 ? [flagTable(own)] : []),
    ...(shared.length > 0
      ? [`[Shared flags](#shared-flags): ${shared.map((flag) => `\`${flagForms(flag)[0]}\``).join(', ')}.`]
      : []),
  ];
}

function flagTable(flags: readonly Flag[]): string {
  return markdownTable(
    ['flag', 'meaning'],
    flags.map((flag) => [`\`${flagTerm(flag)}\``, flag.summary]),
  );
}

function fileSections(): string[] {
  const stored: readonly Setting[] = settings.filter((setting: Setting) => setting.isStored);
  return [
    '## Batch result lines\n\n`--batch` writes one JSON object per input line.',
    markdownTable(
      ['field', 'meaning'],
      [
        ['`line`', 'Number of the input line, from 1'],
        ['`id`', 'The `custom_id` of the line, or the id in its body; null without one'],
        ['`status`', 'HTTP status; null if there was no response'],
        ['`exit_code`', 'Exit code of the request, see [exit codes](#exit-codes)'],
        ['`applied`', '`yes`, `no` or `unknown`'],
        ['`reply`', 'The response, with every digit; text if it is not JSON'],
        ['`error`', 'The error object, as with `--error-format json`'],
        ['`attempts`', 'Number of attempts'],
        ['`ms`', 'Duration in milliseconds, retries included'],
      ],
    ),
    '## Checkpoint files\n\nThe output file of a batch (`-o FILE`) is its checkpoint. `FILE.inflight` records each request before svc sends it, and what the batch belongs to: operation, base URL, shard, flags and a digest per input line. It is removed when the run is complete. Keep both files together to continue a run with `--resume`.',
    '## Profile file\n\n`config.json` in `SVC_CONFIG_DIR` (default: `svc` in the configuration directory of the user), mode 0600: an object with `current`, the name of the default profile, and `profiles`, an object with one object per profile. Change it with `svc profile` and `svc auth`.',
    markdownTable(
      ['key', 'meaning'],
      stored.map(({ name, summary }) => [`\`${name}\``, summary]),
    ),
  ];
}

function operationSections(operation: Operation): string[] {
  const { path, auth, limit, isPreview } = operation;
  const scheme = auth === 'basic' ? 'Basic' : 'Bearer';
  const time =
    limit === undefined
      ? 'no time limit unless `--timeout` sets one'
      : `at most ${limit} s unless \`--timeout\` says otherwise`;
  return [
    '### Request',
    `POST \`${path}\`, ${scheme} authentication, ${time}.${isPreview ? ' A preview: the service may change it.' : ''}`,
    fieldTable(operation.body),
    '### Response',
    fieldTable(operation.reply),
  ];
}

function localModelSection(): string {
  const ignored = Object.keys(allOperations.find(({ path }) => path === '/v1/chat/completions')?.body ?? {}).filter(
    (name) => !simulatedFields.includes(name),
  );
  return [
    '## The built-in model of the local service',
    'It answers deterministically from the messages and the seed, under the name `svc-local`. It accepts these fields without simulating their effect:',
    [...ignored, ...unenforcedConstraints.map((name) => `structured_outputs.${name}`)]
      .map((name) => `\`${name}\``)
      .join(', '),
  ].join('\n\n');
}

/** The section of the reference about `svc serve` and `--local`: paths, limits, durability and backup, as Markdown. */
function localServiceSection(): string {
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
