import type { RunCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { Failure, type InterruptedError, usageFailure } from '../../errors.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import { splitLines } from '../../files/split-lines.ts';
import { type FlagValues, getArrayFlag, getStringFlag } from '../../flag.ts';
import type { JsonValue } from '../../json/write-json.ts';
import { createMethodHandler, type RunTool } from './mcp-methods.ts';
import { createMcpServer } from './mcp-server.ts';
import { registrations, serverArguments } from './registrations.ts';
import { createToolRunner } from './run-tool.ts';
import { describeTool, hasDefaultProject, isOfferedAlways, mcpTools } from './tools.ts';

// A tool call carries a request body, of which servers take at most 32 MiB.
const MAX_MESSAGE_BYTES = 33 * 1024 * 1024;

/**
 * Serves the operations as tools of the Model Context Protocol over stdio, until stdin ends. Only tools that change
 * nothing but a bill are offered unless `--allow` names more. Throws usage for an unknown tool.
 */
export const runMcp: RunCommand = async ({ flags }, context) => {
  const allowed = getArrayFlag(flags, 'allow').flatMap((names) => names.split(',').map((name) => name.trim()));
  const names = mcpTools.map(({ name }) => name);
  const unknown = allowed.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw usageFailure(`--allow cannot be ${JSON.stringify(unknown)}`, `choose from: ${names.join(', ')}`);
  if (flags.has('print')) return printRegistration(flags, context);
  const tools = mcpTools.filter((tool) => isOfferedAlways(tool) || allowed.includes(tool.name));
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
    // Nobody would learn what further calls did.
    lastWrite.catch(stop);
    return lastWrite;
  };
  const runTool = createToolRunner(flags, context);
  let callsInFlight = 0;
  const countAndRunTool: RunTool = (...call) => {
    callsInFlight += 1;
    return runTool(...call).finally(() => {
      callsInFlight -= 1;
    });
  };
  const describeTools = async (): Promise<JsonValue[]> => {
    const fillsProject = await hasDefaultProject(flags, context);
    return tools.map((tool) => describeTool(tool, fillsProject));
  };
  const server = createMcpServer(createMethodHandler(tools, describeTools, countAndRunTool), write);
  await context.report.detail(`serving ${tools.map(({ name }) => name).join(', ')}`);
  signal.addEventListener('abort', () => stop(interruptionFailure(signal.reason, callsInFlight)), { once: true });
  try {
    for await (const { bytes } of splitLines(runtime.stdin, MAX_MESSAGE_BYTES)) {
      if (stopReason) break;
      if (bytes) await server.receive(bytes);
      else await server.rejectMessage(`the message is longer than ${formatByteSize(MAX_MESSAGE_BYTES)}`);
    }
  } catch (error) {
    stopReason ??= error;
  }
  // After a signal, the calls in flight end with it; each result says whether its call was applied.
  await server.close();
  if (stopReason) throw stopReason;
};

// Prints and edits nothing: the file belongs to the client.
async function printRegistration(flags: FlagValues, { stdout, report }: Context): Promise<void> {
  const registration = registrations[getStringFlag(flags, 'print') ?? ''];
  if (!registration) return;
  await report.note(`add this to ${registration.file}; svc did not change any file`);
  await stdout.write(registration.text(serverArguments(flags)));
  await stdout.end();
}

function interruptionFailure({ code, message }: InterruptedError, callsInFlight: number): Failure {
  if (callsInFlight === 0) return new Failure(code, message, { applied: 'no' });
  const calls = callsInFlight === 1 ? '1 tool call was' : `${callsInFlight} tool calls were`;
  return new Failure(code, `${message}; ${calls} in flight and may have been applied`, { applied: 'unknown' });
}
