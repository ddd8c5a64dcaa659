import type { Command } from '../command.ts';
import { allOperations } from '../operations/all-operations.ts';
import { helpTopicNames } from './help-topic-names.ts';
import { baseUrlFlags, certificateFlags, localFlag, profileFlag, reportFlags, resultFlags } from './shared-flags.ts';

/** The commands around the operations. */
export const toolCommands: readonly Command[] = [
  {
    words: ['serve'],
    summary: 'Run the local service on a port',
    about:
      'All five operations on an embedded database, for development, tests and CI. Credentials are SVC_USERNAME, SVC_PASSWORD and SVC_TOKEN, or those of a file, or made at start and written beside the data.',
    flags: [
      {
        name: 'port',
        takes: 'value',
        value: '<n>',
        group: 'Common',
        summary: 'Port on 127.0.0.1; 0, the default, takes a free one',
      },
      {
        name: 'data',
        takes: 'value',
        value: '<file|url>',
        group: 'Common',
        summary: 'Database file, or postgres://user@host/database (default: svc.db in the data directory)',
      },
      {
        name: 'credentials',
        takes: 'value',
        value: '<file>',
        group: 'Common',
        summary: 'JSON file with username, password and token',
      },
      { name: 'auth', takes: 'off', group: 'Common', summary: 'Take requests without credentials' },
      {
        name: 'upstream',
        takes: 'value',
        value: '<url>',
        group: 'Common',
        summary: 'Answer chats with this server (vLLM, llama.cpp, Ollama); its token is SVC_UPSTREAM_TOKEN',
      },
      {
        name: 'max-body',
        takes: 'value',
        value: '<size>',
        group: 'Common',
        summary: 'Reject larger bodies with 413, such as 8M; the limits of the operations always apply',
      },
      {
        name: 'log',
        takes: 'value',
        value: '<format>',
        group: 'Output',
        summary: 'Log each request on stderr: text, json or off (default: off)',
      },
      {
        name: 'drain',
        takes: 'value',
        value: '<duration>',
        group: 'Common',
        summary: 'Time for requests in flight after SIGTERM (default: 5s)',
      },
      ...resultFlags('report'),
      ...reportFlags,
    ],
    examples: [
      { why: 'On a free port, with data of its own', args: 'serve --data ./svc.db --json' },
      { why: 'In front of a model server', args: 'serve --port 8080 --upstream http://127.0.0.1:11434/v1' },
    ],
    load: async () => (await import('../commands/serve.ts')).runServe,
  },
  {
    words: ['batch', 'merge'],
    summary: 'Put the results of sharded batches together',
    about:
      'Takes the files that --batch wrote with -o, on as many machines as there were shards, and prints their results in the order of the lines, one each. Says which lines are missing.',
    argument: { name: 'files', summary: 'Files of results', isRepeatable: true, isFile: true },
    flags: [
      {
        name: 'input',
        takes: 'value',
        value: '<file>',
        group: 'Common',
        summary: 'The file of lines the batches were of, to see what is missing at its end',
      },
      {
        name: 'output',
        short: 'o',
        takes: 'value',
        value: '<file>',
        group: 'Output',
        summary: 'Write the results to a file',
      },
      ...resultFlags('lines'),
      ...reportFlags,
    ],
    examples: [
      {
        why: 'Two halves, and is anything missing',
        args: 'batch merge a.jsonl b.jsonl --input prompts.jsonl -o all.jsonl',
      },
    ],
    load: async () => (await import('../commands/batch/merge.ts')).runBatchMerge,
  },
  {
    words: ['spec'],
    summary: 'Print the JSON Schema of a body, and more',
    argument: {
      name: 'command',
      summary: 'The operation: feedback replace, chat, ...',
      isRepeatable: true,
      offers: [...new Set(allOperations.map(({ command: [first = ''] }) => first))],
    },
    flags: [
      { name: 'reply', takes: 'switch', group: 'Common', summary: 'Schema of the reply' },
      { name: 'skeleton', takes: 'switch', group: 'Common', summary: 'A body with every member, to fill in' },
      { name: 'openapi', takes: 'switch', group: 'Common', summary: 'The whole interface as OpenAPI 3.1' },
      ...resultFlags('document'),
      ...reportFlags,
    ],
    examples: [
      { why: 'The schema of a chat body', args: 'spec chat' },
      { why: 'A body to fill in', args: 'spec feedback replace --skeleton' },
      { why: 'For other tools', args: 'spec --openapi' },
    ],
    load: async () => (await import('../commands/spec.ts')).runSpec,
  },
  {
    words: ['doctor'],
    summary: 'Show what is configured and whether the service can be reached',
    about:
      'Every setting with what gives it, the files svc uses, and a connection to each base address as far as TLS; no operation is called without --probe. Secrets are not shown, and no credential_command is run without --probe. Ends with 0 when all is well, also with warnings, else with the first of: 12 a file cannot be used, 2 a setting is wrong or there is no address, 13 something is insecure, 4 there are no credentials, 5 to 9 what came of the probe, 7 an address cannot be reached.',
    flags: [
      profileFlag,
      localFlag,
      ...baseUrlFlags(['trace', 'chat', 'train']),
      ...certificateFlags,
      {
        name: 'probe',
        takes: 'switch',
        group: 'Common',
        summary: 'Call feedback schema as well, which changes nothing',
      },
      ...resultFlags('report'),
      ...reportFlags,
    ],
    examples: [
      { why: 'What counts here, and does it work', args: 'doctor' },
      { why: 'Are the credentials good as well, for a script', args: 'doctor --profile work --probe --json' },
    ],
    load: async () => (await import('../commands/doctor/doctor.ts')).runDoctor,
  },
  {
    words: ['completion'],
    summary: 'Print a completion script for a shell',
    about:
      'bash: source <(svc completion bash). zsh: svc completion zsh > a folder of $fpath, named _svc. fish: svc completion fish | source.',
    argument: { name: 'shell', summary: 'The shell', isRequired: true, choices: ['bash', 'zsh', 'fish', 'powershell'] },
    flags: reportFlags,
    examples: [{ why: 'For this bash', args: 'completion bash' }],
    load: async () => (await import('../commands/completion.ts')).runCompletion,
  },
  {
    words: ['help'],
    summary: 'Explain a command, exit-codes or environment',
    argument: {
      name: 'topic',
      summary: 'A command, exit-codes or environment',
      isRepeatable: true,
      offers: helpTopicNames,
    },
    flags: reportFlags,
    examples: [{ why: 'What the exit codes mean', args: 'help exit-codes' }],
    load: async () => (await import('../commands/help.ts')).runHelp,
  },
];
