import { allCommands } from '../src/cli/all-commands.ts';
import { exampleLine, introduction } from '../src/cli/docs/help-text.ts';
import type { Command } from '../src/command.ts';
import { exitCodes } from '../src/errors.ts';
import { flagTerm } from '../src/flag.ts';

/** The file that `svc help --skill` prints, for agents that run commands. */
export function skillMarkdown(): string {
  const operations = allCommands.filter(({ operation }) => operation);
  const others = allCommands.filter(({ operation }) => !operation);
  const known = operations.flatMap((command) => command.flags);
  const flags = ['dry-run', 'json', 'local', 'set', 'error-format', 'stdin'].flatMap(
    (name) => known.find((flag) => flag.name === name) ?? [],
  );
  const paragraphs = [
    [
      '---',
      'name: svc',
      'description: Send feedback, discover feedback schemas, create chat completions and training jobs, and record traced calls with the svc command-line client.',
      '---',
    ].join('\n'),
    '# svc',
    introduction,
    '## Operations',
    ...operations.flatMap((command) => [
      `### svc ${command.name}`,
      [`${command.summary}.`, command.about ?? ''].join(' ').trim(),
      ...requiredFields(command),
      ['```sh', ...command.examples.map(exampleLine), '```'].join('\n'),
    ]),
    '## Batches',
    batchText,
    ['```sh', ...batchExamples, '```'].join('\n'),
    '## Limits',
    limitsText,
    '## Other commands',
    others.map(({ name, summary }) => `- \`svc ${name}\`: ${summary}`).join('\n'),
    '## Flags that help agents',
    flags.map((flag) => `- \`${flagTerm(flag)}\`: ${flag.summary}`).join('\n'),
    '## Exit codes',
    Object.values(exitCodes)
      .map(({ code, meaning, retry }) => `- ${code}: ${meaning}${retry ? `. Run again: ${retry}` : ''}`)
      .join('\n'),
    'Run `svc help --json` for every flag with its type, and `svc spec <command>` for the JSON Schema of a body.',
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

const batchText =
  'To send many requests, use one command instead of a loop: `--rows FILE` makes one request per row of a table (`{{column}}` is a cell), and `--batch FILE` sends one body per line. Check with `--dry-run`, and try with `--limit 3`. Always pass `-o FILE --resume`: after any interruption, run the same command again. Exit code 10 means that some lines failed or are unknown; `svc batch report` says why. Use `--retry-unknown` only if a request may be sent twice.';

const limitsText =
  "The service has no operation that reads, lists or deletes calls, feedback or jobs, ends a call, or follows a job. `svc feedback replace` with the same `--feedback-id` and `--keep-id` corrects a record, and takes it back with `--feedback-type retracted --payload '{}'`. `svc train log`, and `svc log` with `SVC_HISTORY=1`, list what was sent from this machine. A `svc_ref` is `svc:///<entity>/<project>/call/<call_id>`, which `--call-id` writes, or `svc:///<entity>/<project>/object/<name>:<digest>`.";

const batchExamples = [
  "svc chat -m my-model --rows reviews.csv --id-column id 'Classify: {{text}}' -o classes.jsonl --resume",
  'svc batch report classes.jsonl',
  'svc batch merge classes.jsonl --join reviews.csv --columns text,cost -o joined.csv',
];

function requiredFields({ flags }: Command): string[] {
  const required = flags
    .filter(({ group }) => group === 'Required')
    .map((flag) => [`\`${flagTerm(flag)}\``, ...(flag.or ?? [])].join(' or '));
  return required.length === 0 ? [] : [`Required fields, from flags, a file or stdin: ${required.join(', ')}.`];
}
