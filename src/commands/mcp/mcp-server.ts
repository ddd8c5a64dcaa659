import type { Buffer } from 'node:buffer';
import { toFailure } from '../../errors.ts';
import { JsonError } from '../../json/json-error.ts';
import { firstStringMember, getMember, itemsOf, type JsonNode, kindOf, rawText, rootOf } from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { type JsonValue, RawJson, writeJson } from '../../json/write-json.ts';
import { version } from '../../version.ts';
import { describeTool, type McpTool } from './tools.ts';

/** Runs a tool. Never throws: a failure is a result with `isError`. */
export type RunTool = (tool: McpTool, call: ToolCall, signal: AbortSignal) => Promise<{ [name: string]: JsonValue }>;

/** A call of a tool. */
export interface ToolCall {
  /** The arguments as JSON text as it was written, with every digit. */
  readonly args: string;
  /** The W3C trace parent that the client sent. */
  readonly traceParent: string | undefined;
}

/** A server of one connection. */
export interface McpServer {
  /** Handles a message; responses are written as they become available. */
  readonly receive: (message: Buffer) => void;
  /** Resolves when every request has its response; nothing is received after it. */
  readonly close: () => Promise<void>;
}

// Revisions with an initialize handshake, newest last, and those where each request names its revision.
const HANDSHAKE_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const STATELESS_VERSIONS = ['2026-07-28'];

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const UNSUPPORTED_VERSION = -32022;

// How long a client may keep a list of tools: they do not change while the server runs.
const LIST_TTL_MS = 3_600_000;

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const SERVER_INFO = { name: 'svc', version };
const INSTRUCTIONS =
  'Tools of a service for feedback, traced calls, chat completions and training jobs. A failed call returns an error object with a code, an outcome (applied: no, yes or unknown) and whether a retry is safe.';

type RequestResult = { readonly result: { [name: string]: JsonValue } } | { readonly error: JsonValue };

/** Creates a server that offers `tools`. `write` gets each response as one line of JSON, without a line feed. */
export function createMcpServer(
  tools: readonly McpTool[],
  runTool: RunTool,
  write: (line: string) => Promise<void>,
): McpServer {
  const running = new Map<string, AbortController>();
  const pending = new Set<Promise<void>>();

  const receive = (message: Buffer): void => {
    if (message.toString().trim() === '') return;
    const work = handleMessage(message).catch(() => {});
    pending.add(work);
    void work.finally(() => pending.delete(work));
  };

  const handleMessage = async (message: Buffer): Promise<void> => {
    let root: JsonNode;
    try {
      root = rootOf(parseJson(message));
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      return write(envelope(undefined, failure(PARSE_ERROR, error.message)));
    }
    // Revision 2025-03-26 allows an array of messages.
    const isArray = kindOf(root) === 'list';
    const requests = isArray ? Array.from(itemsOf(root)) : [root];
    const responses = (await Promise.all(requests.map(handleRequest))).flatMap((response) => response ?? []);
    if (responses.length > 0) await write(isArray ? `[${responses.join(',')}]` : responses.join());
  };

  const handleRequest = async (request: JsonNode): Promise<string | undefined> => {
    const idNode = getMember(request, 'id');
    const method = firstStringMember(request, 'method');
    const params = getMember(request, 'params');
    if (method === undefined) {
      const isResponse = idNode !== undefined && (getMember(request, 'result') || getMember(request, 'error'));
      return isResponse ? undefined : envelope(idNode, failure(INVALID_REQUEST, 'the message is not a request'));
    }
    if (!idNode) return handleNotification(method, params);
    const id = rawText(idNode);
    const controller = new AbortController();
    running.set(id, controller);
    try {
      const result = await dispatch(method, params, controller.signal);
      // A cancelled request has no response.
      return controller.signal.aborted ? undefined : envelope(idNode, result);
    } catch (error) {
      return envelope(idNode, failure(INVALID_PARAMS, toFailure(error).message));
    } finally {
      running.delete(id);
    }
  };

  const handleNotification = (method: string, params: JsonNode | undefined): undefined => {
    const id = method === 'notifications/cancelled' ? getMember(params, 'requestId') : undefined;
    if (id) running.get(rawText(id))?.abort(new Error('the client cancelled the request'));
  };

  const dispatch = async (
    method: string,
    params: JsonNode | undefined,
    signal: AbortSignal,
  ): Promise<RequestResult> => {
    const meta = getMember(params, '_meta');
    const requested = firstStringMember(meta, VERSION_KEY);
    const isStateless = requested !== undefined;
    if (isStateless && !STATELESS_VERSIONS.includes(requested))
      return failure(UNSUPPORTED_VERSION, `unsupported protocol version ${JSON.stringify(requested)}`, {
        supported: STATELESS_VERSIONS,
        requested,
      });
    const complete = (result: { [name: string]: JsonValue }): RequestResult => ({
      result: isStateless ? { resultType: 'complete', ...result } : result,
    });
    const cached = isStateless ? { ttlMs: LIST_TTL_MS, cacheScope: 'private' } : {};
    switch (method) {
      case 'initialize': {
        const asked = firstStringMember(params, 'protocolVersion') ?? '';
        const protocolVersion = HANDSHAKE_VERSIONS.includes(asked) ? asked : (HANDSHAKE_VERSIONS.at(-1) ?? '');
        return {
          result: { protocolVersion, capabilities: { tools: {} }, serverInfo: SERVER_INFO, instructions: INSTRUCTIONS },
        };
      }
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
        return complete({ tools: tools.map(describeTool), ...cached });
      case 'tools/call': {
        const name = firstStringMember(params, 'name');
        const tool = tools.find((one) => one.name === name);
        if (!tool) return failure(INVALID_PARAMS, `unknown tool ${JSON.stringify(name ?? null)}`);
        const args = getMember(params, 'arguments');
        const call = { args: args ? rawText(args) : '{}', traceParent: firstStringMember(meta, 'traceparent') };
        return complete(await runTool(tool, call, signal));
      }
      default:
        return failure(METHOD_NOT_FOUND, `unknown method ${JSON.stringify(method)}`);
    }
  };

  return { receive, close: async () => void (await Promise.all(pending)) };
}

function failure(code: number, message: string, data?: JsonValue): RequestResult {
  return { error: { code, message, data } };
}

// The id is repeated as it was written: it may have more digits than a double.
function envelope(id: JsonNode | undefined, response: RequestResult): string {
  return writeJson({ jsonrpc: '2.0', id: id ? new RawJson(rawText(id)) : null, ...response });
}
