import type { RunCommand } from '../../command.ts';
import { type ServiceOptions, serviceFlags } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { Failure, type InterruptedError, usageFailure } from '../../errors.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import { splitLines } from '../../files/split-lines.ts';
import { type OptionsOfList, optionKey } from '../../flag.ts';
import { changesNothing } from '../../operations/operation.ts';
import { mcpFlags } from '../command-flags.ts';
import { createMcpServer, invalidRequest } from './mcp-server.ts';
import { mcpTools } from './tools.ts';

// A tool call carries a request body, of which servers take at most 32 MiB.
const MAX_MESSAGE_BYTES = 33 * 1024 * 1024;

// Messages whose responses are not written yet: a client that does not read them stops the reading of further ones.
const MAX_PENDING_MESSAGES = 64;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

/** Serves the operations as tools of the Model Context Protocol over stdio. Throws usage for an unknown tool. */
type McpOptions = ServiceOptions & OptionsOfList<typeof mcpFlags>;

export const runMcp: RunCommand<McpOptions> = async ({ options }, context) => {
  const allowed = (options.allow ?? []).flatMap((names) => names.split(',').map((name) => name.trim()));
  const names = mcpTools.map(({ name }) => name);
  const unknown = allowed.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw usageFailure(`--allow cannot be ${JSON.stringify(unknown)}`, `choose from: ${names.join(', ')}`);
  if (options.print !== undefined) return printRegistration(options, context);
  const tools = mcpTools.filter(({ name, operation }) => changesNothing(operation) || allowed.includes(name));
  const { stdout, runtime, signal } = context;
  let stopReason: unknown;
  const stop = (reason: unknown): void => {
    stopReason ??= reason;
    runtime.stdin.destroy();
  };
  // One message at a time: responses of concurrent calls must not interleave.
  let lastWrite = Promise.resolve();
  const write = (line: string): Promise<void> => {
    lastWrite = lastWrite.then(() => stdout.write(`${line}\n`));
    return lastWrite;
  };
  const server = createMcpServer(tools, options, context);
  const pending = new Set<Promise<void>>();
  let pendingBytes = 0;
  await context.report.detail(`serving ${tools.map(({ name }) => name).join(', ')}`);
  signal.addEventListener('abort', () => stop(interruptionFailure(signal.reason, server.callsInFlight())), {
    once: true,
  });
  try {
    // A client that sends too much is still there for a response.
    for await (const { bytes } of splitLines(runtime.stdin, MAX_MESSAGE_BYTES, Number.POSITIVE_INFINITY)) {
      if (stopReason) break;
      if (bytes?.toString().trim() === '') continue;
      const length = bytes?.length ?? 0;
      const response = bytes
        ? server.handleMessage(bytes)
        : Promise.resolve(invalidRequest(`the message is longer than ${formatByteSize(MAX_MESSAGE_BYTES)}`));
      const work = response
        .then((line) => (line === undefined ? undefined : write(line)))
        // Without its response, nobody would learn what a further call did.
        .catch(stop)
        .finally(() => {
          pending.delete(work);
          pendingBytes -= length;
        });
      pending.add(work);
      pendingBytes += length;
      while (pending.size >= MAX_PENDING_MESSAGES || pendingBytes >= MAX_PENDING_BYTES) await Promise.race(pending);
    }
  } catch (error) {
    stopReason ??= error;
  }
  // After a signal, the calls in flight end with it; each result says whether its call was applied.
  await Promise.all(pending);
  if (stopReason) throw stopReason;
};

function interruptionFailure({ code, message }: InterruptedError, callsInFlight: number): Failure {
  if (callsInFlight === 0) return new Failure(code, message, { applied: 'no' });
  const calls = callsInFlight === 1 ? '1 tool call was' : `${callsInFlight} tool calls were`;
  return new Failure(code, `${message}; ${calls} in flight and may have been applied`, { applied: 'unknown' });
}

// The file in which each client registers servers, and its text.
const registrations: { readonly [client: string]: readonly [file: string, text: (args: readonly string[]) => string] } =
  {
    claude: ['.mcp.json in the project', (args) => json('mcpServers', { type: 'stdio', args })],
    codex: ['~/.codex/config.toml', toml],
    cursor: ['.cursor/mcp.json in the project', (args) => json('mcpServers', { args })],
    vscode: ['.vscode/mcp.json in the project', (args) => json('servers', { type: 'stdio', args })],
  };

function json(servers: string, registration: object): string {
  return `${JSON.stringify({ [servers]: { svc: { command: 'svc', ...registration } } }, null, 2)}\n`;
}

function toml(args: readonly string[]): string {
  return `[mcp_servers.svc]\ncommand = "svc"\nargs = [${args.map((arg) => JSON.stringify(arg)).join(', ')}]\n`;
}

// Prints the registration of the same command, and edits nothing: the file belongs to the client.
async function printRegistration({ print, ...options }: McpOptions, { stdout, report }: Context): Promise<void> {
  const registration = registrations[print ?? ''];
  if (!registration) return;
  const [file, textOf] = registration;
  const given = new Map(Object.entries(options));
  const words = [...mcpFlags, ...serviceFlags()].map(({ name }) => {
    const value = given.get(optionKey(name)) ?? [];
    return value === true ? [`--${name}`] : [value].flat().flatMap((one) => [`--${name}`, one]);
  });
  await report.note(`add this to ${file}; svc did not change any file`);
  await stdout.write(textOf(['mcp', ...words.flat()]));
}
