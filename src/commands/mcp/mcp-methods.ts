import { firstStringMember, getMember, type JsonNode, rawText } from '../../json/json-node.ts';
import type { JsonValue } from '../../json/write-json.ts';
import { version } from '../../version.ts';
import { type McpTool, mcpTools } from './tools.ts';

/** Runs a tool. Never throws: a failure is a result with `isError`. */
export type RunTool = (tool: McpTool, call: ToolCall, signal: AbortSignal) => Promise<{ [name: string]: JsonValue }>;

/** A call of a tool. */
export interface ToolCall {
  /** The arguments as JSON text as it was written, with every digit. */
  readonly args: string;
  /** The W3C trace parent that the client sent. */
  readonly traceParent: string | undefined;
}

/** The result of a request, or its error. */
export type RequestResult = { readonly result: { [name: string]: JsonValue } } | { readonly error: JsonValue };

/** Handles a request by its method. */
export type MethodHandler = (
  method: string,
  params: JsonNode | undefined,
  signal: AbortSignal,
) => Promise<RequestResult>;

// Revisions with an initialize handshake, newest last, and those where each request names its revision.
const HANDSHAKE_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const STATELESS_VERSIONS = ['2026-07-28'];

// Of JSON-RPC 2.0 and of the protocol.
const mcpErrorCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  unsupportedVersion: -32022,
} as const;

// The time that a client may cache the list of tools: they do not change while the server runs.
const LIST_TTL_MS = 3_600_000;

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const SERVER_INFO = { name: 'svc', version };
const INSTRUCTIONS =
  'Tools of a service for feedback, traced calls, chat completions and training jobs. A failed call returns an error object with a code, an outcome (applied: no, yes or unknown) and whether a retry is safe.';

/** The methods of a server that offers `tools`, in all revisions of the protocol. */
export function createMethodHandler(
  tools: readonly McpTool[],
  describeTools: () => Promise<readonly JsonValue[]>,
  runTool: RunTool,
): MethodHandler {
  return async (method, params, signal) => {
    const meta = getMember(params, '_meta');
    const requested = firstStringMember(meta, VERSION_KEY);
    const isStateless = requested !== undefined;
    if (isStateless && !STATELESS_VERSIONS.includes(requested))
      return mcpError('unsupportedVersion', `unsupported protocol version ${JSON.stringify(requested)}`, {
        supported: STATELESS_VERSIONS,
        requested,
      });
    const complete = (result: { [name: string]: JsonValue }): RequestResult => ({
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
        return complete({ tools: await describeTools(), ...cached });
      case 'tools/call': {
        const name = firstStringMember(params, 'name');
        const tool = tools.find((one) => one.name === name);
        if (!tool) return mcpError('invalidParams', unknownToolMessage(name));
        const args = getMember(params, 'arguments');
        const call = { args: args ? rawText(args) : '{}', traceParent: firstStringMember(meta, 'traceparent') };
        return complete(await runTool(tool, call, signal));
      }
      default:
        return mcpError('methodNotFound', `unknown method ${JSON.stringify(method)}`);
    }
  };
}

function unknownToolMessage(name: string | undefined): string {
  const isKnown = mcpTools.some((one) => one.name === name);
  return isKnown
    ? `the tool ${name} is not allowed; start the server with svc mcp --allow ${name}`
    : `unknown tool ${JSON.stringify(name ?? null)}`;
}

/** An error response. */
export function mcpError(code: keyof typeof mcpErrorCodes, message: string, data?: JsonValue): RequestResult {
  return { error: { code: mcpErrorCodes[code], message, data } };
}

function initializeResult(params: JsonNode | undefined): { [name: string]: JsonValue } {
  const requested = firstStringMember(params, 'protocolVersion') ?? '';
  const protocolVersion = HANDSHAKE_VERSIONS.includes(requested) ? requested : (HANDSHAKE_VERSIONS.at(-1) ?? '');
  return { protocolVersion, capabilities: { tools: {} }, serverInfo: SERVER_INFO, instructions: INSTRUCTIONS };
}
