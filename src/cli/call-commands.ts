import type { CommandDefinition } from '../command.ts';
import { offFlag, repeatableFlag, switchFlag, valueFlag } from '../flag.ts';
import { reportFlags, resultFlags, serviceFlags } from './shared-flags.ts';

const CALL_GROUP = 'Call';
const COMMON_GROUP = 'Common';

/** The commands around traced calls. */
export const callCommands: readonly CommandDefinition[] = [
  {
    words: ['call', 'run'],
    summary: 'Run a command and record it as a traced call',
    about:
      'The command starts at once and keeps the terminal, stdin, stdout and stderr. The record is sent in parallel. svc ends with the exit code of the command, and a service that is down never changes it. Secrets in the recorded arguments are redacted. The command finds its call in TRACEPARENT, SVC_CALL_ID and SVC_TRACE_ID.',
    argument: {
      name: 'command',
      summary: 'The command and its arguments, after --',
      usage: '-- <command> [args...]',
      isRepeatable: true,
    },
    flags: () => [
      valueFlag(
        'project-id',
        '<entity/project>',
        COMMON_GROUP,
        'Project of the call (default: that of the environment or profile)',
        { completes: 'projects' },
      ),
      valueFlag('op-name', '<name>', COMMON_GROUP, 'Name of the operation (default: the name of the command)'),
      switchFlag(
        'require',
        COMMON_GROUP,
        'Record the call first, and run the command only if the service confirmed it',
      ),
      valueFlag(
        'grace',
        '<time>',
        COMMON_GROUP,
        'How long to wait for the service after the command ended (default: 5s)',
      ),
      valueFlag(
        'inputs',
        '<none|name|argv>',
        CALL_GROUP,
        'What to record of the command line (default: argv, with secrets redacted)',
        { choices: ['none', 'name', 'argv'] },
      ),
      repeatableFlag('env', '<name>', CALL_GROUP, 'Record this environment variable; repeatable'),
      offFlag('parent', CALL_GROUP, 'Start a new trace, even if TRACEPARENT names a parent'),
      switchFlag('exact', CALL_GROUP, 'Record no attributes and no parent'),
      valueFlag('log-file', '<file>', CALL_GROUP, 'Append a JSON line with ids, times and exit code'),
      {
        name: 'exit-feedback',
        takes: 'optional',
        value: '<type>',
        group: CALL_GROUP,
        summary: 'Send exit code and duration as feedback on the call (default type: exit)',
      },
      {
        name: 'spool',
        takes: 'optional',
        value: '<only>',
        choices: ['only'],
        group: CALL_GROUP,
        summary: 'Keep the record on disk until it is confirmed; with =only, send it later with svc call flush',
      },
      switchFlag('replace', CALL_GROUP, 'Send the record, then become the command (Node 22.15 or later)', {
        conflicts: ['log-file', 'exit-feedback'],
      }),
      ...serviceFlags('trace'),
      ...reportFlags,
    ],
    examples: [
      { why: 'Trace a build', args: 'call run --local --project-id acme/support-bot -- true' },
      {
        why: 'Without a network; send later',
        args: 'call run --local --project-id acme/support-bot --spool=only -- true',
      },
    ],
    load: async () => (await import('../commands/call/run.ts')).runCallRun,
  },
  {
    words: ['call', 'flush'],
    summary: 'Send the spooled calls',
    about:
      'Sends the calls of svc call run --spool that belong to the current trace base URL, and reports how many belong to others. A call that is sent twice is stored once.',
    flags: () => [...serviceFlags('trace'), ...resultFlags('record'), ...reportFlags],
    examples: [{ why: 'Send the spooled calls', args: 'call flush --local' }],
    load: async () => (await import('../commands/call/flush.ts')).runCallFlush,
  },
];
