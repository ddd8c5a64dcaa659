import type { Buffer } from 'node:buffer';
import { createResponseBudget, type ResponseMemory } from '../../client/response-memory.ts';
import type { RunCommand } from '../../command.ts';
import { type ServiceOptions, serviceFlags } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { Failure, type InterruptedError, toFailure, usageFailure } from '../../errors.ts';
import { formatByteSize } from '../../files/byte-size.ts';
import { splitLines } from '../../files/split-lines.ts';
import { type OptionsOfList, type OptionValues, optionKey } from '../../flag.ts';
import { JsonError } from '../../json/json-error.ts';
import type { JsonNode } from '../../json/json-node.ts';
import { firstStringMember, getMember, itemsOf, kindOf, rawText, rootOf, stringOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { type JsonValue, RawJson, writeJson } from '../../json/write-json.ts';
import { changesNothing } from '../../operations/operation.ts';
import { version } from '../../version.ts';
import { mcpFlags } from '../definitions/command-flags.ts';
import { describeTools, type McpTool, mcpTools, runTool } from './tools.ts';

// A tool call carries a request body, of which servers take at most 32 MiB.
const MAX_MESSAGE_BYTES = 33 * 1024 * 1024;

// Messages whose responses are not written yet: a client that does not read them stops the reading of further ones.
const MAX_PENDING_MESSAGES = 64;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

type McpOptions = ServiceOptions & OptionsOfList<typeof mcpFlags>;

/** Serves the operations as tools of the Model Context Protocol over stdio. Throws usage for an unknown tool. */
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
  const given: OptionValues = options;
  const registration = registrations[print ?? ''];
  if (!registration) return;
  const [file, textOf] = registration;
  const words = [...mcpFlags, ...serviceFlags()].map(({ name }) => {
    const value = given[optionKey(name)] ?? [];
    return value === true ? [`--${name}`] : [value].flat().flatMap((one) => [`--${name}`, String(one)]);
  });
  await report.note(`add this to ${file}; svc did not change any file`);
  await stdout.write(textOf(['mcp', ...words.flat()]));
}

// Revisions with an initialize handshake, newest last, and those where each request names its revision.
const HANDSHAKE_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const STATELESS_VERSIONS = ['2026-07-28'];

// The time that a client may cache the list of tools: they do not change while the server runs.
const LIST_TTL_MS = 3_600_000;

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const SERVER_INFO = { name: 'svc', version };
const INSTRUCTIONS =
  'Tools of a service for feedback, traced calls, chat completions and training jobs. A failed call returns an error object with a code, an outcome (applied: no, yes or unknown) and whether a retry is safe.';

type Members = { readonly [name: string]: JsonValue };

type RequestResult = { readonly result: Members } | { readonly error: JsonValue };

interface McpServer {
  readonly tools: readonly McpTool[];
  readonly options: ServiceOptions;
  readonly context: Context;
  readonly shareMemory: () => ResponseMemory;
  callsInFlight: number;
}

function createMcpServer(tools: readonly McpTool[], options: ServiceOptions, context: Context) {
  const running = new Map<string, AbortController>();
  const server: McpServer = { tools, options, context, shareMemory: createResponseBudget(), callsInFlight: 0 };

  // The responses to a message, as one line of JSON; undefined if it needs none.
  const handleMessage = async (message: Buffer): Promise<string | undefined> => {
    let root: JsonNode;
    try {
      root = rootOf(parseJson(message));
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      return envelope(undefined, errorOf('parseError', error.message));
    }
    if (kindOf(root) !== 'list') return handleRequest(root);
    // Revision 2025-03-26 allows an array of messages.
    const requests = Array.from(itemsOf(root));
    if (requests.length === 0) return invalidRequest('the array is empty');
    const responses = (await Promise.all(requests.map(handleRequest))).flatMap((response) => response ?? []);
    return responses.length > 0 ? `[${responses.join(',')}]` : undefined;
  };

  const handleRequest = async (request: JsonNode): Promise<string | undefined> => {
    const idNode = getMember(request, 'id');
    const method = firstStringMember(request, 'method');
    const params = getMember(request, 'params');
    if (method === undefined) {
      const isResponse = idNode !== undefined && (getMember(request, 'result') || getMember(request, 'error'));
      return isResponse ? undefined : invalidRequest('the message is not a request', idNode);
    }
    if (!idNode) {
      const cancelled = method === 'notifications/cancelled' ? getMember(params, 'requestId') : undefined;
      if (cancelled) running.get(requestKey(cancelled))?.abort(new Error('the client cancelled the request'));
      return undefined;
    }
    if (!['string', 'number'].includes(kindOf(idNode)))
      return invalidRequest('the id of a request must be a string or a number');
    if (firstStringMember(request, 'jsonrpc') !== '2.0')
      return invalidRequest('the jsonrpc of a request must be "2.0"', idNode);
    const id = requestKey(idNode);
    const controller = new AbortController();
    running.set(id, controller);
    try {
      const result = await callMethod(method, params, controller.signal, server);
      // A cancelled request has no response.
      return controller.signal.aborted ? undefined : envelope(idNode, result);
    } catch (error) {
      return envelope(idNode, errorOf('invalidParams', toFailure(error).message));
    } finally {
      running.delete(id);
    }
  };

  return { handleMessage, callsInFlight: () => server.callsInFlight };
}

async function callMethod(
  method: string,
  params: JsonNode | undefined,
  signal: AbortSignal,
  server: McpServer,
): Promise<RequestResult> {
  const requested = firstStringMember(getMember(params, '_meta'), VERSION_KEY);
  const isStateless = requested !== undefined;
  if (isStateless && !STATELESS_VERSIONS.includes(requested))
    return errorOf('unsupportedVersion', `unsupported protocol version ${JSON.stringify(requested)}`, {
      supported: STATELESS_VERSIONS,
      requested,
    });
  const complete = (result: Members): RequestResult => ({
    result: isStateless ? { resultType: 'complete', ...result } : result,
  });
  const cached = isStateless ? { ttlMs: LIST_TTL_MS, cacheScope: 'private' } : {};
  switch (method) {
    case 'initialize':
      return { result: initializeResult(params) };
    case 'server/discover':
      return complete({
        supportedVersions: [...STATELESS_VERSIONS, ...HANDSHAKE_VERSIONS],
        capabilities: { tools: {} },
        instructions: INSTRUCTIONS,
        ...cached,
        _meta: { 'io.modelcontextprotocol/serverInfo': SERVER_INFO },
      });
    case 'ping':
      return complete({});
    case 'tools/list':
      return complete({ tools: await describeTools(server.tools, server.options, server.context), ...cached });
    case 'tools/call': {
      const name = firstStringMember(params, 'name');
      const tool = server.tools.find((one) => one.name === name);
      if (tool) return complete(await callTool(tool, params, signal, server));
      const isKnown = mcpTools.some((one) => one.name === name);
      const unknown = `unknown tool ${JSON.stringify(name ?? null)}`;
      const notAllowed = `the tool ${name} is not allowed; start the server with svc mcp --allow ${name}`;
      return errorOf('invalidParams', isKnown ? notAllowed : unknown);
    }
    default:
      return errorOf('methodNotFound', `unknown method ${JSON.stringify(method)}`);
  }
}

async function callTool(
  { operation }: McpTool,
  params: JsonNode | undefined,
  signal: AbortSignal,
  server: McpServer,
): Promise<Members> {
  const { options, context, shareMemory } = server;
  const args = getMember(params, 'arguments');
  const traceParent = firstStringMember(getMember(params, '_meta'), 'traceparent');
  const callContext = { ...context, signal: AbortSignal.any([signal, context.signal]) };
  server.callsInFlight += 1;
  const result = await runTool(
    operation,
    args ? rawText(args) : '{}',
    traceParent,
    options,
    callContext,
    shareMemory(),
  );
  server.callsInFlight -= 1;
  return result;
}

const mcpErrorCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  unsupportedVersion: -32022,
} as const;

function errorOf(code: keyof typeof mcpErrorCodes, message: string, data?: JsonValue): RequestResult {
  return { error: { code: mcpErrorCodes[code], message, data } };
}

function initializeResult(params: JsonNode | undefined): Members {
  const requested = firstStringMember(params, 'protocolVersion') ?? '';
  const protocolVersion = HANDSHAKE_VERSIONS.includes(requested) ? requested : (HANDSHAKE_VERSIONS.at(-1) ?? '');
  return { protocolVersion, capabilities: { tools: {} }, serverInfo: SERVER_INFO, instructions: INSTRUCTIONS };
}

// Equal for equal ids: a string can be written with different escapes. A number keeps every digit.
function requestKey(id: JsonNode): string {
  return kindOf(id) === 'string' ? JSON.stringify(stringOf(id)) : rawText(id);
}

// The id is repeated as it was written: it may have more digits than a double.
function envelope(id: JsonNode | undefined, response: RequestResult): string {
  return writeJson({ jsonrpc: '2.0', id: id ? new RawJson(rawText(id)) : null, ...response });
}

function invalidRequest(reason: string, id?: JsonNode): string {
  return envelope(id, errorOf('invalidRequest', reason));
}
