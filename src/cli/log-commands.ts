import type { CommandDefinition } from '../command.ts';
import { flagGroup } from '../flag.ts';
import { reportFlagsExcept, resultFlags, yesFlag } from './shared-flags.ts';

/** The commands about the history of requests. */
export const logCommands: readonly CommandDefinition[] = [
  {
    words: ['log'],
    summary: 'List the requests sent from this machine, if the history is on',
    about:
      'Lists time, command, HTTP status, exit code, tokens, duration and ids of each request, newest last. To enable the history, set SVC_HISTORY=1, or run svc profile set <name> --history on; with bodies instead of on, svc also records request and response bodies. Batch lines are recorded in their output files instead; traced commands and requests of svc mcp are not recorded.',
    flags: () => [
      ...flagGroup('Common', { '--limit <n>': 'Show only the newest n requests' }),
      ...resultFlags('rows'),
      ...reportFlagsExcept('verbose'),
    ],
    examples: [
      { why: 'Show the last ten requests', args: 'log --limit 10' },
      { why: 'Print all requests as JSON', args: 'log --json' },
    ],
    load: async () => (await import('../commands/log.ts')).runLog,
  },
  {
    words: ['log', 'show'],
    summary: 'Show one recorded request with its bodies',
    argument: { name: 'n', summary: 'Number of the request in svc log', isRequired: true },
    flags: () => [...resultFlags('document'), ...reportFlagsExcept('verbose')],
    examples: [{ why: 'Show the first request', args: 'log show 1' }],
    load: async () => (await import('../commands/log.ts')).runLogShow,
  },
  {
    words: ['log', 'clear'],
    summary: 'Remove all recorded requests',
    flags: () => [...yesFlag, ...resultFlags('record'), ...reportFlagsExcept('verbose')],
    examples: [{ why: 'Remove the history without confirmation', args: 'log clear --yes' }],
    load: async () => (await import('../commands/log.ts')).runLogClear,
  },
];
