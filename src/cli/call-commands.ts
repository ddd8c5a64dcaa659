import type { Command } from '../command.ts';
import { reportFlags, resultFlags, serviceFlags } from './shared-flags.ts';

const CALL_GROUP = 'Call';
const COMMON_GROUP = 'Common';

/** The commands around traced calls. */
export const callCommands: readonly Command[] = [
  {
    words: ['call', 'run'],
    summary: 'Run a command and record it as a traced call',
    about:
      'The command starts at once and keeps the terminal, stdin, stdout and stderr. The record is sent in parallel. svc ends with the exit code of the command, and a service that is down never changes it. Secrets in the recorded arguments are redacted. The command finds its call in TRACEPARENT, SVC_CALL_ID and SVC_TRACE_ID.',
    argument: { name: 'command', summary: 'The command and its arguments, after --', isRepeatable: true },
    flags: [
      {
        name: 'project-id',
        takes: 'value',
        value: '<entity/project>',
        group: COMMON_GROUP,
        completes: 'projects',
        summary: 'Project of the call (default: that of the environment or profile)',
      },
      {
        name: 'op-name',
        takes: 'value',
        value: '<name>',
        group: COMMON_GROUP,
        summary: 'Name of the operation (default: the name of the command)',
      },
      {
        name: 'require',
        takes: 'switch',
        group: COMMON_GROUP,
        summary: 'Record the call first, and run the command only if the service confirmed it',
      },
      {
        name: 'grace',
        takes: 'value',
        value: '<time>',
        group: COMMON_GROUP,
        summary: 'How long to wait for the service after the command ended (default: 5s)',
      },
      {
        name: 'inputs',
        takes: 'value',
        value: '<none|name|argv>',
        choices: ['none', 'name', 'argv'],
        group: CALL_GROUP,
        summary: 'What to record of the command line (default: argv, with secrets redacted)',
      },
      {
        name: 'env',
        takes: 'values',
        value: '<name>',
        group: CALL_GROUP,
        summary: 'Record this environment variable; repeatable',
      },
      {
        name: 'parent',
        takes: 'off',
        group: CALL_GROUP,
        summary: 'Start a new trace, even if TRACEPARENT names a parent',
      },
      { name: 'exact', takes: 'switch', group: CALL_GROUP, summary: 'Record no attributes and no parent' },
      {
        name: 'log-file',
        takes: 'value',
        value: '<file>',
        group: CALL_GROUP,
        summary: 'Append a JSON line with ids, times and exit code',
      },
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
      {
        name: 'replace',
        takes: 'switch',
        conflicts: ['log-file', 'exit-feedback'],
        group: CALL_GROUP,
        summary: 'Send the record, then become the command (Node 22.15 or later)',
      },
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
    summary: 'Send the calls that were kept on disk',
    about:
      'Sends the calls of svc call run --spool that belong to the current trace base URL, and reports how many belong to others. A call that is sent twice is stored once.',
    flags: [...serviceFlags('trace'), ...resultFlags('record'), ...reportFlags],
    examples: [{ why: 'Send what was kept', args: 'call flush --local' }],
    load: async () => (await import('../commands/call/flush.ts')).runCallFlush,
  },
];
