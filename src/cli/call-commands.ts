import { batchFlags } from '../batch/batch-flags.ts';
import type { Command } from '../command.ts';
import { type FlagForms, flagGroup } from '../flag.ts';
import { bodySourceFlags, defineCommands, sendingFlags, serviceFlags } from './shared-flags.ts';

export const callCommands: readonly Command[] = defineCommands('Tools', {
  'call run': {
    summary: 'Run a command and record it as a traced call',
    about:
      'The command starts at once, with the terminal, stdin, stdout and stderr of svc, while svc sends the record. svc exits with the exit code of the command, even if the service is down. The command finds its call in TRACEPARENT, SVC_CALL_ID and SVC_TRACE_ID.',
    argument: {
      name: 'command',
      summary: 'The command and its arguments, after --',
      usage: '-- <command> [args...]',
      isRepeatable: true,
    },
    flags: () => [
      ...flagGroup('Common', {
        ...projectForm('the call'),
        '--op-name <name>': 'Name of the operation (default: the name of the command)',
        '--require': 'Record the call first, and run the command only if the service confirms it',
        '--grace <duration>': 'How long to wait for the service after the command ends (default: 5s)',
      }),
      ...flagGroup('Call', {
        '--inputs <none|name|argv>': {
          summary:
            'What to record of the command line: nothing, the name of the command (default), or all arguments; of these svc redacts its own credentials, values of variables and flags whose names mark secrets, and passwords in URLs, and records other secrets',
          choices: ['none', 'name', 'argv'],
        },
        '--env <name>...': 'Record this environment variable (repeatable)',
        '--no-parent': 'Start a new trace, even if TRACEPARENT names a parent',
        '--exact': 'Record no attributes and no parent',
        '--log-file <file>': 'Append a JSON line with ids, times and exit code',
        '--exit-feedback[=<type>]': 'Send exit code and duration as feedback on the call (default type: exit)',
        '--spool[=<only>]': {
          summary: 'Keep the record on disk until it is confirmed; with =only, send it later with svc call flush',
          choices: ['only'],
        },
      }),
      ...serviceFlags(),
    ],
    hides: [],
    examples: {
      'call run --local --project-id acme/support-bot -- true': 'Trace a build',
      'call run --local --project-id acme/support-bot --spool=only -- true':
        'Keep the record on disk and send it later',
    },
    load: async () => (await import('../commands/call/run.ts')).runCallRun,
  },
  'call import': {
    summary: 'Record the spans of an OTLP/JSON file as calls',
    about:
      'Reads OTLP/JSON, or lines of it as the file exporter of a collector writes them. A span becomes the start of a call: ids, parent, name, attributes and the start with every nanosecond are kept, and the whole span is in otel_dump. The spans are sent as a batch; a span that is sent twice is one call.',
    argument: { name: 'file', summary: 'File of spans; - is stdin (default)', isFile: true },
    flags: () => [
      ...flagGroup('Common', projectForm('the calls')),
      ...bodySourceFlags([]).filter(({ name }) => name === 'strict' || name === 'check'),
      ...batchFlags.filter(({ name }) => !['batch', 'rows', 'delimiter', 'id-column'].includes(name)),
      ...serviceFlags(),
      ...sendingFlags,
    ],
    hides: [],
    examples: { 'call import spans.json --local --project-id acme/support-bot -n': 'Check the spans of a file' },
    load: async () => (await import('../commands/call/import.ts')).runCallImport,
  },
  'call flush': {
    summary: 'Send the spooled calls',
    about:
      'Sends the calls of svc call run --spool that belong to the current trace base URL, and reports how many belong to others. A call that is sent twice is stored once.',
    flags: serviceFlags,
    result: 'record',
    hides: [],
    examples: { 'call flush --local': 'Send the spooled calls' },
    load: async () => (await import('../commands/call/flush.ts')).runCallFlush,
  },
});

function projectForm(owner: string): FlagForms {
  const summary = `Project of ${owner} (default: from the environment or profile)`;
  return { '--project-id <entity/project>': { summary, completes: 'projects' } };
}
