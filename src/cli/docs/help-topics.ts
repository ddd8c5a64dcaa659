import { batchFlags, promptFlags } from '../../batch/batch-flags.ts';
import { bodySourceFlags, otherBodyFormats } from '../../body/body-flags.ts';
import { sendingFlags, summaryFlags } from '../../client/request-flags.ts';
import { reportFlags } from '../../commands/definitions/define-commands.ts';
import { type Setting, serviceFlags, settings } from '../../config/settings.ts';
import { exitCodes } from '../../errors.ts';
import { type Flag, flagTerm, withDefault } from '../../flag.ts';
import { resultFlags, resultKinds } from '../../output/output-format.ts';
import type { helpTopicNames } from '../help-command.ts';
import { capitalizeSentence, type HelpSection } from './help-page.ts';

/** The environment variables that svc reads, from the table of settings. An empty variable counts as unset. */
export const environmentVariables: readonly (readonly [name: string, purpose: string])[] = settings.flatMap(
  ({ variable, ...setting }: Setting) => (variable ? [[variable, withDefault(setting).summary] as const] : []),
);

const chatFormats: readonly string[] = resultKinds.chat.formats;
const rowFormats = resultKinds.rows.formats.filter((format) => !chatFormats.includes(format));

export const helpTopics: { readonly [name in (typeof helpTopicNames)[number]]: () => readonly HelpSection[] } = {
  bodies: () => [
    prose(
      'A request body comes from these sources. Later sources win, field by field.',
      'svc keeps a whole body byte for byte: a flag changes only its own field, and svc adds only the fields named below. Errors are caught before anything is sent; see --strict, --no-check and --dry-run.',
    ),
    definitions('Sources', {
      '-f, --file <file>': `A JSON object, or ${otherBodyFormats((suffixes) => `a ${suffixes.join(' or ')} file`)}; -f - reads stdin`,
      stdin: 'The body, if no flag sets a field and stdin is not a terminal',
      '--field <value>': 'One flag per field: --sample-limit 10, --echo, --no-echo',
      '--set <path>=<text>': 'A string at a path: --set payload.note=ok',
      '--set <path>:=<json>': 'Any JSON at a path: --set payload.score:=0.9, --set x:=null',
    }),
    definitions('Rules', {
      arrays: 'Flags of arrays are repeatable; together they replace the array of the file',
      objects: 'Flags of objects take JSON, @file or @- (stdin)',
      strings: 'Taken literally: null, @x and commas are text',
      paths: 'a.b for fields (escape a dot as \\.), [0] for an index, [] to append',
      '--exact': 'Adds nothing; otherwise svc fills in ids, times, the project, the model and stream',
    }),
    flags(bodySourceFlags([])),
    examples('svc spec chat', 'svc call start -f call.json --set start.inputs.n:=3 --dry-run'),
  ],
  batch: () => [
    prose(
      '--batch sends each line of a JSONL file as one request. A line is a body, or an object with "custom_id" and "body". Flags are defaults for fields that a line lacks. Each result is one JSON line with the status, the response or error, and the id.',
      'With -o FILE, svc records each request in FILE.journal before sending it, so --resume can continue a run that was killed: it skips lines that succeeded, and sends failed lines that were not applied. It sends lines with an unknown outcome only if that is safe or --retry-unknown is given.',
    ),
    examples(
      'svc chat --batch prompts.jsonl -o out.jsonl',
      'svc chat --batch prompts.jsonl -o out.jsonl --resume',
      'svc chat --batch prompts.jsonl -o out-3.jsonl --shard 3/10',
      'svc batch merge out-*.jsonl --input prompts.jsonl -o all.jsonl',
      'svc batch report all.jsonl',
    ),
    flags([...batchFlags, ...promptFlags]),
    { heading: 'Exit code', paragraphs: ['0 if every line succeeded, 10 if some failed.'] },
  ],
  'exit-codes': () => [
    {
      heading: 'Exit codes',
      entries: Object.values(exitCodes).map(({ code, meaning, retry }) => [
        String(code),
        `${capitalizeSentence(meaning)}.${retry ? ` Run again: ${retry}.` : ''}`,
      ]),
    },
    prose(
      'The code covers all attempts: if one attempt has an unknown outcome, so has the whole run, unless a later response settles it.',
    ),
  ],
  environment: () => [
    { heading: 'Environment variables', entries: environmentVariables },
    prose(
      'An empty variable counts as unset. Flags override variables; variables override the .svc.json of a project, and that overrides the profile. svc doctor shows each setting with its source.',
    ),
  ],
  connection: () => [
    prose(
      'A request goes to the base URL of a flag, a variable or the profile, with the credentials of the environment or the profile. svc doctor shows where each comes from, and tests the connection. See also: svc help profiles.',
    ),
    flags(serviceFlags()),
    examples(
      'svc doctor --probe',
      'svc chat --base-url https://api.example.com -m gpt-4o-mini "Hello"',
      'svc chat --cacert ca.pem --timeout 30s "Hello"',
    ),
  ],
  output: () => [
    prose(
      'stdout carries the result and nothing else; notes, warnings and errors go to stderr. On a terminal results are tables or text. In a pipe they are JSON, except the text of a chat. JSON has color only on a terminal; see --color and NO_COLOR.',
      'Numbers are printed with every digit that the service sent. Control characters in text from a service are escaped on a terminal. A file of --output is replaced only when the result is complete.',
    ),
    flags([...resultFlags('rows'), ...summaryFlags, ...sendingFlags, ...reportFlags]),
    prose(`Formats of rows that a chat does not have: ${rowFormats.join(', ')}.`),
    examples('svc chat --local hi --json | jq .usage', 'svc profile list --json'),
  ],
  profiles: () => [
    prose(
      'A profile holds base URLs, credentials and defaults such as the project and the model. --profile selects one, else SVC_PROFILE, else the one chosen with svc profile use, else "default". The profile "local" is the local service.',
      'Credentials are stored with mode 0600 (or in the keychain with --keychain), and are sent only to the origins that the profile had at login. A secret is never accepted as an argument.',
    ),
    {
      heading: 'Order',
      paragraphs: [
        'Settings come from flags, environment variables, the .svc.json of the project (only project and model) and the profile, in this order. Within the environment and the profile, the base URL for one kind of request, such as SVC_CHAT_BASE_URL, wins over the general one.',
      ],
    },
    examples(
      'svc auth login --profile work --base-url https://api.example.com',
      'svc profile set work --project-id acme/support-bot',
      'svc profile use work',
      'svc doctor --profile work --probe',
    ),
  ],
  retries: () => [
    prose(
      'svc retries a request after a transient failure if that is safe: up to 3 times (--retries N, 0 disables), with increasing random delays of up to 20 s, within one time limit (--timeout). Retry-After is a minimum; above 60 s, or beyond the time limit, svc gives up at once. Each retry is reported on stderr; a batch reports their number.',
    ),
    definitions('Retried, by operation', {
      'feedback schema': 'After every transient failure: it only reads',
      'call start': 'The same, with id and trace_id; svc fills them in',
      'feedback replace': 'The same with --keep-id; otherwise like train',
      chat: 'If nothing was sent, or on 408, 421, 425, 429 and 503 with Retry-After; on other refusals that the response proves',
      train: 'If nothing was sent, or on 429',
    }),
    examples('svc call start -f call.json --retries 5 --timeout 5m'),
  ],
  training: () => [
    prose(
      'svc train sends groups of trajectories, each with a reward, as a training job. The operation is a preview: the service may change it. Files are JSON arrays of groups, JSONL with one group per line, or, with --group-by, JSONL with one trajectory per line; svc also reads gzip files and directories.',
      'svc checks everything before it sends the first byte, in bounded memory. It keeps a job history: the same job again exits with 13 unless --allow-duplicate is given.',
    ),
    examples(
      'svc train lint groups.jsonl --fail-on zero-variance',
      'svc train groups.jsonl --model-id <uuid>',
      'svc train runs.jsonl --group-by metadata.task --model-id <uuid>',
      'svc train log',
    ),
  ],
  tracing: () => [
    prose(
      'svc call start records the start of a traced call. svc fills in id, trace_id, started_at, inputs and attributes unless they are given, and prints the ids. Sending the same id again does not create a second call.',
      'svc call run -- COMMAND runs a command as a traced call and exits with its exit code. The command finds the call in TRACEPARENT, SVC_TRACE_ID and SVC_CALL_ID, and svc call start continues that trace. --parent-id and --trace-id name another parent. With --spool, the record stays on disk until the run itself or svc call flush has sent it.',
      'Feedback refers to a call or object with --svc-ref; --exit-feedback stores how a command ended. svc call import reads spans of OpenTelemetry. svc serve --open shows the traces of the local service.',
    ),
    examples(
      'svc call run --project-id acme/support-bot -- make test',
      'svc call start --project-id acme/support-bot --op-name answer --json',
      'svc call start --op-name step --parent-id <id> --trace-id <id>',
    ),
  ],
  'local-service': () => [
    prose(
      'svc contains a local service: all operations on an embedded database, for development, tests and CI. --local (or the profile "local") calls it in the same process, without a port and without credentials. svc serve binds it to a port of 127.0.0.1 and shows its data on a page in the browser.',
      'Its data is in SVC_DATA_DIR, or in PostgreSQL with --data postgres://user@host/database. The built-in model is deterministic; svc serve --upstream forwards chats to a model server instead. --fault injects failures, so that you can test how a script handles them.',
    ),
    examples(
      'svc chat --local "Hello"',
      'svc serve --port 8080 --open',
      'svc serve --fault operation=chat,every=3,status=429',
      'svc profile use local',
    ),
  ],
};

function prose(...paragraphs: readonly string[]): HelpSection {
  return { paragraphs };
}

function examples(...code: readonly string[]): HelpSection {
  return { heading: 'Examples', code };
}

function flags(listed: readonly Flag[]): HelpSection {
  return { heading: 'Flags', entries: listed.map((flag) => [flagTerm(flag), flag.summary]) };
}

function definitions(heading: string, summaries: { readonly [term: string]: string }): HelpSection {
  return { heading, entries: Object.entries(summaries) };
}
