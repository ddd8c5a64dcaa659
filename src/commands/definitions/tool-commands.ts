import { type BatchFlagOptions, batchFlags } from '../../batch/batch-flags.ts';
import { type BodySourceOptions, bodySourceFlags } from '../../body/body-flags.ts';
import { sendingFlags } from '../../client/request-flags.ts';
import type { Command } from '../../command.ts';
import { probeFlags, serviceFlags } from '../../config/settings.ts';
import { type FlagList, flagGroup, joinFlags } from '../../flag.ts';
import { allOperations } from '../../operations/all-operations.ts';
import {
  batchReportFlags,
  callProjectFlag,
  callRunFlags,
  doctorFlags,
  limitJobsFlag,
  limitRequestsFlag,
  lintFlags,
  mcpFlags,
  mergeFlags,
  pruneFlags,
  serveFlags,
  specFlags,
  yesFlag,
} from './command-flags.ts';
import { command, defineCommands } from './define-commands.ts';
import { bodyFlags } from './operation-commands.ts';

export const toolCommands: readonly Command[] = defineCommands('Tools', {
  'call run': command({
    summary: 'Run a command and record it as a traced call',
    about:
      'The command starts at once, with the terminal, stdin, stdout and stderr of svc, while svc sends the record. svc exits with the exit code of the command, even if the service is down. The command finds its call in TRACEPARENT, SVC_CALL_ID and SVC_TRACE_ID. svc forwards signals, except real-time ones (34 to 64), which end it with 0. Ignored signals are reset, so write nohup after --. File descriptors from 3 up are closed: with make -j, choose the fifo style of its job server (GNU make 4.4). Arguments that are not UTF-8 are rejected (exit code 2).',
    argument: {
      name: 'command',
      summary: 'The command and its arguments, after --',
      usage: '-- <command> [args...]',
      isRepeatable: true,
    },
    flags: () => joinFlags(callRunFlags, serviceFlags()),
    examples: {
      'call run --local --project-id acme/support-bot -- true': 'Trace a build',
      'call run --local --project-id acme/support-bot --spool=only -- true':
        'Keep the record on disk and send it later',
    },
    load: async () => (await import('../call/run.ts')).runCallRun,
  }),
  'call import': command({
    summary: 'Record the spans of an OTLP/JSON file as calls',
    about:
      'Reads OTLP/JSON, or lines of it as the file exporter of a collector writes them. A span becomes the start of a call: ids, parent, name, attributes and the start with every nanosecond are kept, and the whole span is in otel_dump. The spans are sent as a batch; a span that is sent twice is one call.',
    argument: { name: 'file', summary: 'File of spans; - is stdin (default)', isFile: true },
    flags: () => joinFlags(callProjectFlag, checkFlags(), lineFlags(), serviceFlags(), sendingFlags),
    examples: { 'call import spans.json --local --project-id acme/support-bot -n': 'Check the spans of a file' },
    load: async () => (await import('../call/send-recorded.ts')).runCallImport,
  }),
  'call flush': command({
    summary: 'Send the spooled calls',
    about:
      'Sends the calls of svc call run --spool that belong to the current trace base URL, and reports how many belong to others. A call that is sent twice is stored once.',
    flags: serviceFlags,
    result: 'record',
    examples: { 'call flush --local': 'Send the spooled calls' },
    load: async () => (await import('../call/send-recorded.ts')).runCallFlush,
  }),
  'train lint': command({
    summary: 'Check trajectories without sending them',
    about:
      'Needs no credentials. Reports groups, trajectories, rewards and sizes, and data that a service accepts although it contains no training signal. Counts all findings, and prints the first ones of each kind (--json: the first 100). Minimum and maximum of rewards are exact; mean and standard deviation are doubles. Exits with 3 if a file is invalid.',
    argument: {
      name: 'files',
      summary: 'Trajectory groups: JSON arrays, JSONL with one group per line, gzip, directories; - is stdin',
      isRepeatable: true,
      isFile: true,
    },
    flags: () => lintFlags,
    result: 'report',
    examples: {
      'train lint groups.jsonl': 'Summarize the training data',
      'train lint groups.jsonl --fail-on zero-variance,no-logprobs': 'Fail in CI if data has no training signal',
      'train lint runs.jsonl --group-by metadata.task': 'Group trajectories by task, one trajectory per line',
    },
    load: async () => (await import('../train/lint.ts')).runTrainLint,
  }),
  'train log': command({
    summary: 'List the training jobs sent from this machine',
    about:
      'Lists time, id, name, the parameters that differ, model, digest of the body, size, outcome, service and files of each job that svc train sent or tried to send, newest last; --json has all parameters. A job with an unknown outcome may have been applied.',
    flags: () => limitJobsFlag,
    result: 'rows',
    examples: { 'train log --limit 10': 'Show the last jobs', 'train log --json': 'Print all jobs as JSON' },
    load: async () => (await import('../log.ts')).runTrainLog,
  }),
  log: command({
    summary: 'List the requests sent from this machine, if the history is on',
    about:
      'Lists time, command, HTTP status, exit code, tokens, duration, model, last message (if bodies are recorded) and ids of each request, newest last. To enable the history, set SVC_HISTORY=1, or run svc profile set <name> --history on; with bodies instead of on, svc also records request and response bodies. Batch lines are recorded in their output files instead; traced commands and requests of svc mcp are not recorded.',
    flags: () => limitRequestsFlag,
    result: 'rows',
    examples: { 'log --limit 10': 'Show the last ten requests', 'log --json': 'Print all requests as JSON' },
    load: async () => (await import('../log.ts')).runLog,
  }),
  'log show': command({
    summary: 'Show one recorded request with its bodies',
    argument: { name: 'n', summary: 'Number of the request in svc log, or one of its ids', isRequired: true },
    result: 'document',
    examples: { 'log show 1': 'Show the first request' },
    load: async () => (await import('../log.ts')).runLogShow,
  }),
  'log prune': command({
    summary: 'Remove old requests from the history',
    about:
      'Removes requests and prompts of interactive chats that are older than an age, or the oldest requests above a size, and reports how many.',
    flags: () => pruneFlags,
    result: 'record',
    examples: {
      'log prune --older-than 30d': 'Remove requests of more than 30 days ago',
      'log prune --max-size 10M --dry-run': 'Report how many requests exceed 10 MiB',
    },
    load: async () => (await import('../log.ts')).runLogPrune,
  }),
  'log clear': command({
    summary: 'Remove all recorded requests and prompts',
    flags: () => yesFlag,
    result: 'record',
    examples: { 'log clear --yes': 'Remove the history without confirmation' },
    load: async () => (await import('../log.ts')).runLogClear,
  }),
  serve: command({
    summary: 'Run the local service on a port',
    about:
      'Serves all operations from an embedded database, for development, tests and CI. Credentials come from SVC_USERNAME, SVC_PASSWORD and SVC_TOKEN or from a file; otherwise svc generates them and stores them next to the data.',
    flags: () => serveFlags,
    result: 'report',
    examples: {
      'serve --data ./svc.db --json': 'Use a free port and a separate database',
      'serve --fault operation=chat,every=3,status=429': 'Rate limit every third chat',
      'serve --port 8080 --upstream http://127.0.0.1:11434/v1': 'Forward chats to a model server',
    },
    load: async () => (await import('../serve.ts')).runServe,
  }),
  'batch merge': command({
    summary: 'Combine the outputs of sharded batches',
    about:
      'Reads the files that --batch wrote with -o, one per shard, and prints one result per input line in input order. Reports missing lines. Exits with 0 if every line, or with --join every row, is done; else with 10, after writing everything.',
    argument: { name: 'files', summary: 'Output files of the shards', isRepeatable: true, isFile: true },
    flags: () => mergeFlags,
    result: 'lines',
    examples: {
      'batch merge a.jsonl b.jsonl --input prompts.jsonl -o all.jsonl': 'Combine two shards and report missing lines',
    },
    load: async () => (await import('../batch/merge.ts')).runBatchMerge,
  }),
  'batch index': command({
    summary: 'Index a large input for its shards',
    about:
      'Writes FILE.index: the number of the line and a digest at each MiB, closer in small files. A shard (--shard i/n) then reads only its part of the file, knows the numbers of its lines, and sends no line of a block that changed since.',
    argument: { name: 'file', summary: 'Input file of the batch', isRequired: true, isFile: true },
    result: 'record',
    examples: { 'batch index prompts.jsonl': 'Write prompts.jsonl.index' },
    load: async () => (await import('../batch/shards.ts')).runBatchIndex,
  }),
  'batch status': command({
    summary: 'Show how far each shard of a batch came',
    about:
      'Reads outputs and journals, also while they are written, and prints a row per shard: state (running, stopped, died or complete), lines that are done, failed, unknown (sent, without a result so far) and unsent, the process that runs it, and the time of its last progress. A batch is complete when each line of its run has a result, also that of a failure. Unsent lines are known for parts of a file, and for any other input once a run has read it to its end.',
    argument: { name: 'files', summary: 'Output files, or directories of them', isRepeatable: true, isFile: true },
    result: 'rows',
    examples: { 'batch status .': 'Show the shards in this directory' },
    load: async () => (await import('../batch/shards.ts')).runBatchStatus,
  }),
  'batch report': command({
    summary: 'Summarize the output of a batch',
    about:
      'Reads output files of --batch and prints counts, failures by cause, token sums, latency and expectations; on a terminal, also histograms.',
    argument: {
      name: 'files',
      summary: 'Output files of batches, or directories of them',
      isRepeatable: true,
      isFile: true,
    },
    flags: () => batchReportFlags,
    result: 'report',
    examples: { 'batch report a.jsonl b.jsonl --compare --html report.html': 'Compare two runs, with charts' },
    load: async () => (await import('../batch/report.ts')).runBatchReport,
  }),
  spec: command({
    summary: 'Print the JSON Schema, a skeleton, or the OpenAPI document',
    argument: {
      name: 'command',
      summary: 'The operation, such as chat or feedback replace',
      isRepeatable: true,
      offers: [...new Set(allOperations.map(({ command: [first = ''] }) => first))],
    },
    flags: () => joinFlags(specFlags, skeletonFlags()),
    result: 'document',
    isQuiet: true,
    examples: {
      'spec chat': 'Print the schema of a chat body',
      'spec chat --skeleton=all': 'Print every field with comments',
      'spec feedback replace --skeleton --project-id acme/support-bot': 'Print a body to fill in',
      'spec --openapi': 'Print an OpenAPI document for other tools',
    },
    load: async () => (await import('../spec/spec.ts')).runSpec,
  }),
  doctor: command({
    summary: 'Show the settings in effect and test the connection',
    about:
      'Shows the settings in effect with their sources and the files that svc uses, and connects to each base URL (TCP and TLS). Only --probe calls an operation and runs a credential command. Secrets are redacted. Exits with 0 if there are no errors, otherwise with the first of: 12 (a file is unusable), 2 (a setting is invalid, or there is no base URL), 13 (insecure), 4 (no credentials), 5 to 9 or 11 (the probe failed), 7 (could not connect).',
    flags: () => joinFlags(probeFlags(), doctorFlags),
    result: 'report',
    examples: {
      doctor: 'Show the settings and test the connection',
      'doctor --profile work --probe --json': 'Also test the credentials, and print JSON',
    },
    load: async () => (await import('../doctor/doctor.ts')).runDoctor,
  }),
  completion: command({
    summary: 'Print a completion script for a shell',
    about:
      'bash: source <(svc completion bash). zsh: save the output as _svc in a directory of $fpath. fish: svc completion fish | source. Completion offers commands, flags, values and files, and the profiles, projects and models found in the environment, the configuration and the history. It never opens a connection.',
    argument: { name: 'shell', summary: 'Shell of the script', isRequired: true, choices: ['bash', 'zsh', 'fish'] },
    isQuiet: true,
    examples: { 'completion bash': 'Print the script for bash' },
    load: async () => (await import('../completion.ts')).runCompletion,
  }),
  mcp: command({
    summary: 'Serve the operations as tools for agents (MCP)',
    about:
      'Serves the Model Context Protocol over stdin and stdout, in every revision from 2024-11-05 to 2026-07-28. Offers tools that write only if --allow names them.',
    flags: () => joinFlags(mcpFlags, serviceFlags()),
    examples: {
      'mcp --local --allow call_start,feedback_replace': 'Serve the local service, with two tools that write',
      'mcp --profile work --print claude': 'Print the registration for a client',
    },
    load: async () => (await import('../mcp/mcp.ts')).runMcp,
  }),
});

// The flags of all bodies, which fill a skeleton in; those of one name mean the same.
function skeletonFlags(): FlagList<object> {
  const flags = allOperations.flatMap(bodyFlags).filter(({ name }) => name !== 'conversation');
  const all = [...flags, ...flagGroup('Body', { '--set <path=text>...': 'Set a field' })];
  const byName = new Map(all.map((flag) => [flag.name, flag]));
  return Array.from(byName.values(), ({ conflicts: _conflicts, ...flag }) => ({ ...flag, isHidden: true }));
}

function checkFlags(): FlagList<Pick<BodySourceOptions, 'strict' | 'noCheck'>> {
  return bodySourceFlags([]).filter(({ name }) => name === 'strict' || name === 'check');
}

function lineFlags(): FlagList<Omit<BatchFlagOptions, 'batch' | 'rows' | 'delimiter' | 'idColumn' | 'prompt'>> {
  return batchFlags.filter(({ name }) => !['batch', 'rows', 'delimiter', 'id-column'].includes(name));
}
