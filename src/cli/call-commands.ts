import { type BatchFlagOptions, batchFlags } from '../batch/batch-flags.ts';
import { type BodySourceOptions, bodySourceFlags } from '../body/body-flags.ts';
import { sendingFlags } from '../client/request-flags.ts';
import type { Command } from '../command.ts';
import { callProjectFlag, callRunFlags } from '../commands/command-flags.ts';
import { serviceFlags } from '../config/settings.ts';
import { type FlagList, joinFlags } from '../flag.ts';
import { command, defineCommands } from './shared-flags.ts';

export const callCommands: readonly Command[] = defineCommands('Tools', {
  'call run': command({
    summary: 'Run a command and record it as a traced call',
    about:
      'The command starts at once, with the terminal, stdin, stdout and stderr of svc, while svc sends the record. svc exits with the exit code of the command, even if the service is down. The command finds its call in TRACEPARENT, SVC_CALL_ID and SVC_TRACE_ID.',
    argument: {
      name: 'command',
      summary: 'The command and its arguments, after --',
      usage: '-- <command> [args...]',
      isRepeatable: true,
    },
    flags: () => joinFlags(callRunFlags, serviceFlags()),
    hides: [],
    examples: {
      'call run --local --project-id acme/support-bot -- true': 'Trace a build',
      'call run --local --project-id acme/support-bot --spool=only -- true':
        'Keep the record on disk and send it later',
    },
    load: async () => (await import('../commands/call/run.ts')).runCallRun,
  }),
  'call import': command({
    summary: 'Record the spans of an OTLP/JSON file as calls',
    about:
      'Reads OTLP/JSON, or lines of it as the file exporter of a collector writes them. A span becomes the start of a call: ids, parent, name, attributes and the start with every nanosecond are kept, and the whole span is in otel_dump. The spans are sent as a batch; a span that is sent twice is one call.',
    argument: { name: 'file', summary: 'File of spans; - is stdin (default)', isFile: true },
    flags: () => joinFlags(callProjectFlag, checkFlags(), lineFlags(), serviceFlags(), sendingFlags),
    hides: [],
    examples: { 'call import spans.json --local --project-id acme/support-bot -n': 'Check the spans of a file' },
    load: async () => (await import('../commands/call/import.ts')).runCallImport,
  }),
  'call flush': command({
    summary: 'Send the spooled calls',
    about:
      'Sends the calls of svc call run --spool that belong to the current trace base URL, and reports how many belong to others. A call that is sent twice is stored once.',
    flags: serviceFlags,
    result: 'record',
    hides: [],
    examples: { 'call flush --local': 'Send the spooled calls' },
    load: async () => (await import('../commands/call/flush.ts')).runCallFlush,
  }),
});

function checkFlags(): FlagList<Pick<BodySourceOptions, 'strict' | 'noCheck'>> {
  return bodySourceFlags([]).filter(({ name }) => name === 'strict' || name === 'check');
}

function lineFlags(): FlagList<Omit<BatchFlagOptions, 'batch' | 'rows' | 'idColumn' | 'prompt'>> {
  return batchFlags.filter(({ name }) => !['batch', 'rows', 'id-column'].includes(name));
}
