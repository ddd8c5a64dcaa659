import type { CommandDefinition } from '../command.ts';
import { settingFlag } from '../config/settings.ts';
import { type Flag, flagGroup } from '../flag.ts';
import { allOperations } from '../operations/all-operations.ts';
import { bodyFlags } from './body-flags.ts';
import { helpTopicNames } from './help-topic-names.ts';
import {
  certificateFlags,
  localFlags,
  profileFlag,
  reportFlags,
  reportFlagsExcept,
  resultFlags,
  serviceFlags,
} from './shared-flags.ts';

/** The commands around the operations. */
export const toolCommands: readonly CommandDefinition[] = [
  {
    words: ['serve'],
    summary: 'Run the local service on a port',
    about:
      'Serves all five operations from an embedded database, for development, tests and CI. Credentials come from SVC_USERNAME, SVC_PASSWORD and SVC_TOKEN or from a file; otherwise svc generates them and stores them next to the data.',
    flags: () => [
      ...flagGroup('Common', {
        '--port <n>': 'Port on 127.0.0.1 (default: 0, a free port)',
        '--data <file|url>': 'Database file, or postgres://user@host/database (default: svc.db in the data directory)',
        '--credentials <file>': { summary: 'JSON file with username, password and token', conflicts: ['no-auth'] },
        '--no-auth': 'Accept requests without credentials',
        '--upstream <url>': 'Forward chats to this server (vLLM, llama.cpp, Ollama); its token is SVC_UPSTREAM_TOKEN',
        '--max-body <size>':
          'Reject bodies above this size with 413, such as 8M; the limits of the operations always apply',
      }),
      ...flagGroup('Output', {
        '--log <format>': {
          summary: 'Log each request on stderr: text, json or off (default: off)',
          choices: ['text', 'json', 'off'],
        },
      }),
      ...flagGroup('Common', {
        '--drain <duration>': 'Time for requests in flight after SIGTERM (default: 5s)',
        '--open': 'Open the page of the service in a browser',
      }),
      ...flagGroup('Testing', {
        '--fault <rule>...':
          'Inject failures; a rule is terms joined by commas, such as operation=chat,status=503. Terms: operation, status, retry-after=2, delay=0.2s, cut=<bytes>, reset=before|after, rate=5/10s, every=3, first=<n>, header=<name:value>, chance=0.2, seed=1 (repeatable)',
        '--record <file>': 'Record requests and responses as HAR 1.2, without credentials',
        '--replay <file>': {
          summary: 'Respond from a HAR file; exit with 13 at the end if a request was not recorded',
          conflicts: ['record', 'fault', 'upstream', 'data', 'max-body', 'open'],
        },
      }),
      ...resultFlags('report'),
      ...reportFlagsExcept('verbose'),
    ],
    examples: [
      { why: 'Use a free port and a separate database', args: 'serve --data ./svc.db --json' },
      { why: 'Rate limit every third chat', args: 'serve --fault operation=chat,every=3,status=429' },
      { why: 'Forward chats to a model server', args: 'serve --port 8080 --upstream http://127.0.0.1:11434/v1' },
    ],
    load: async () => (await import('../commands/serve.ts')).runServe,
  },
  {
    words: ['batch', 'merge'],
    summary: 'Combine the outputs of sharded batches',
    about:
      'Reads the files that --batch wrote with -o, one per shard, and prints one result per input line in input order. Reports missing lines.',
    argument: { name: 'files', summary: 'Output files of the shards', isRepeatable: true, isFile: true },
    flags: () => [
      ...flagGroup('Common', { '--input <file>': 'Input file of the batches, to detect missing lines at its end' }),
      ...flagGroup('Output', { '-o, --output <file>': 'Write the results to a file; - is stdout' }),
      ...resultFlags('lines'),
      ...reportFlagsExcept('verbose'),
    ],
    examples: [
      {
        why: 'Combine two shards and report missing lines',
        args: 'batch merge a.jsonl b.jsonl --input prompts.jsonl -o all.jsonl',
      },
    ],
    load: async () => (await import('../commands/batch/merge.ts')).runBatchMerge,
  },
  {
    words: ['batch', 'report'],
    summary: 'Summarize the output of a batch',
    about:
      'Reads output files of --batch and prints counts, failures by cause, token sums and latency; on a terminal, also histograms.',
    argument: { name: 'files', summary: 'Output files of batches', isRepeatable: true, isFile: true },
    flags: () => [
      ...flagGroup('Output', { '--html <file>': 'Also write a self-contained HTML page with charts' }),
      ...resultFlags('report'),
      ...reportFlagsExcept('verbose'),
    ],
    examples: [{ why: 'Write an HTML page with charts', args: 'batch report out.jsonl --html report.html' }],
    load: async () => (await import('../commands/batch/report.ts')).runBatchReport,
  },
  {
    words: ['spec'],
    summary: 'Print the JSON Schema, a skeleton, or the OpenAPI document',
    argument: {
      name: 'command',
      summary: 'The operation, such as chat or feedback replace',
      isRepeatable: true,
      offers: [...new Set(allOperations.map(({ command: [first = ''] }) => first))],
    },
    flags: () => [
      ...flagGroup('Common', {
        '--response': 'Print the schema of the response',
        '--reply': { summary: 'The same as --response', isHidden: true },
        '--skeleton[=<all>]': {
          summary:
            'Print the smallest valid body, with the fields that flags set; =all prints every field with a comment, as YAML (train: JSONC)',
          choices: ['all'],
        },
        '--openapi': 'Print all operations as an OpenAPI 3.1 document',
      }),
      ...resultFlags('document'),
      ...skeletonFlags(),
      ...reportFlagsExcept('verbose', 'quiet'),
    ],
    examples: [
      { why: 'Print the schema of a chat body', args: 'spec chat' },
      { why: 'Print every field with comments', args: 'spec chat --skeleton=all' },
      { why: 'Print a body to fill in', args: 'spec feedback replace --skeleton --project-id acme/support-bot' },
      { why: 'Print an OpenAPI document for other tools', args: 'spec --openapi' },
    ],
    load: async () => (await import('../commands/spec/spec.ts')).runSpec,
  },
  {
    words: ['doctor'],
    summary: 'Show the settings in effect and test the connection',
    about:
      'Shows the settings in effect with their sources and the files that svc uses, and connects to each base URL (TCP and TLS). Only --probe calls an operation and runs a credential command. Secrets are redacted. Exits with 0 if there are no errors, otherwise with the first of: 12 (a file is unusable), 2 (a setting is invalid, or there is no base URL), 13 (insecure), 4 (no credentials), 5 to 9 or 11 (the probe failed), 7 (could not connect).',
    flags: () => [
      profileFlag,
      ...localFlags,
      settingFlag('base_url'),
      ...certificateFlags,
      ...flagGroup('Common', {
        '--probe': 'Also call feedback schema, which changes nothing',
        '--all': 'Also list the settings that are not set',
      }),
      ...resultFlags('report'),
      ...reportFlags,
    ],
    examples: [
      { why: 'Show the settings and test the connection', args: 'doctor' },
      { why: 'Also test the credentials, and print JSON', args: 'doctor --profile work --probe --json' },
    ],
    load: async () => (await import('../commands/doctor/doctor.ts')).runDoctor,
  },
  {
    words: ['completion'],
    summary: 'Print a completion script for a shell',
    about:
      'bash: source <(svc completion bash). zsh: save the output as _svc in a directory of $fpath. fish: svc completion fish | source. Completion offers commands, flags, values and files, and the profiles, projects and models found in the environment, the configuration and the history. It never opens a connection.',
    argument: {
      name: 'shell',
      summary: 'Shell of the script',
      isRequired: true,
      choices: ['bash', 'zsh', 'fish'],
    },
    flags: () => reportFlagsExcept('verbose', 'quiet'),
    examples: [{ why: 'Print the script for bash', args: 'completion bash' }],
    load: async () => (await import('../commands/completion.ts')).runCompletion,
  },
  {
    words: ['help'],
    summary: 'Show help for a command or topic',
    argument: { name: 'topic', summary: 'A command or a topic', isRepeatable: true, offers: helpTopicNames },
    flags: () => [
      ...flagGroup('Output', {
        '--json': {
          summary: 'Print the command tree, or the named commands, as JSON: flags, types, defaults, examples',
          conflicts: ['skill'],
        },
        '--jq <filter>': {
          summary: 'Filter the JSON with jq; strings are printed without quotes',
          conflicts: ['skill'],
        },
        '--skill': 'Print a skill file for agents',
      }),
      ...reportFlagsExcept('verbose', 'quiet'),
    ],
    examples: [{ why: 'List the exit codes', args: 'help exit-codes' }],
    load: async () => (await import('./docs/show-help.ts')).runHelp,
  },
  {
    words: ['mcp'],
    summary: 'Serve the operations as tools for agents (MCP)',
    about:
      'Serves the Model Context Protocol over stdin and stdout, in every revision from 2024-11-05 to 2026-07-28. Offers tools that write only if --allow names them.',
    flags: () => [
      ...flagGroup('Common', {
        '--allow <tools>...': {
          summary: 'Also offer these tools: call_start, feedback_replace, train; separated by commas, or repeated',
          offers: ['call_start', 'feedback_replace', 'train'],
        },
      }),
      ...serviceFlags(),
      ...reportFlags,
    ],
    examples: [
      {
        why: 'Serve the local service, with two tools that write',
        args: 'mcp --local --allow call_start,feedback_replace',
      },
    ],
    load: async () => (await import('../commands/mcp/mcp.ts')).runMcp,
  },
];

// The flags of all bodies, which fill a skeleton in; those of one name mean the same.
function skeletonFlags(): Flag[] {
  const flags = allOperations.flatMap(bodyFlags).filter(({ name }) => name !== 'conversation');
  const all = [...flags, ...flagGroup('Body', { '--set <path=text>...': 'Set a field' })];
  const byName = new Map(all.map((flag) => [flag.name, flag]));
  return Array.from(byName.values(), ({ conflicts: _conflicts, ...flag }) => ({ ...flag, isHidden: true }));
}
