import type { Buffer } from 'node:buffer';
import { toFailure } from '../../errors.ts';
import { JsonError } from '../../json/json-error.ts';
import {
  firstStringMember,
  getMember,
  itemsOf,
  type JsonNode,
  kindOf,
  rawText,
  rootOf,
  stringOf,
} from '../../json/json-node.ts';
import { parseJson } from '../../json/parse-json.ts';
import { RawJson, writeJson } from '../../json/write-json.ts';
import { type MethodHandler, mcpError, type RequestResult } from './mcp-methods.ts';

/** A server of one connection. */
export interface McpServer {
  /** Handles a message; responses are written as they become available. Resolves when the next message may be read. */
  readonly receive: (message: Buffer) => Promise<void>;
  /** Responds to a message that is too long to read. Resolves like `receive`. */
  readonly rejectMessage: (reason: string) => Promise<void>;
  /** Resolves when every request has its response; nothing is received after it. */
  readonly close: () => Promise<void>;
}

// Messages whose responses are not written yet: a client that does not read them stops the reading of further ones.
const MAX_PENDING_MESSAGES = 64;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

/** Creates a server. `write` gets each response as one line of JSON, without a line feed. */
export function createMcpServer(handleMethod: MethodHandler, write: (line: string) => Promise<void>): McpServer {
  const running = new Map<string, AbortController>();
  const pending = new Set<Promise<void>>();
  let pendingBytes = 0;
  let onRoom = (): void => {};

  const receive = async (message: Buffer): Promise<void> => {
    if (message.toString().trim() !== '') await track(handleMessage(message), message.length);
  };

  const rejectMessage = (reason: string): Promise<void> =>
    track(write(envelope(undefined, mcpError('invalidRequest', reason))), reason.length);

  const track = async (action: Promise<void>, bytes: number): Promise<void> => {
    pendingBytes += bytes;
    const work = action
      .catch(() => {})
      .finally(() => {
        pending.delete(work);
        pendingBytes -= bytes;
        onRoom();
      });
    pending.add(work);
    while (pending.size >= MAX_PENDING_MESSAGES || pendingBytes >= MAX_PENDING_BYTES)
      await new Promise<void>((resolve) => {
        onRoom = resolve;
      });
  };

  const handleMessage = async (message: Buffer): Promise<void> => {
    let root: JsonNode;
    try {
      root = rootOf(parseJson(message));
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      return write(envelope(undefined, mcpError('parseError', error.message)));
    }
    // Revision 2025-03-26 allows an array of messages.
    const isArray = kindOf(root) === 'list';
    const requests = isArray ? Array.from(itemsOf(root)) : [root];
    if (requests.length === 0) return write(envelope(undefined, mcpError('invalidRequest', 'the array is empty')));
    const responses = (await Promise.all(requests.map(handleRequest))).flatMap((response) => response ?? []);
    if (responses.length > 0) await write(isArray ? `[${responses.join(',')}]` : responses.join());
  };

  const handleRequest = async (request: JsonNode): Promise<string | undefined> => {
    const idNode = getMember(request, 'id');
    const method = firstStringMember(request, 'method');
    const params = getMember(request, 'params');
    if (method === undefined) {
      const isResponse = idNode !== undefined && (getMember(request, 'result') || getMember(request, 'error'));
      return isResponse ? undefined : envelope(idNode, mcpError('invalidRequest', 'the message is not a request'));
    }
    if (!idNode) return handleNotification(method, params);
    if (!['string', 'number'].includes(kindOf(idNode)))
      return envelope(undefined, mcpError('invalidRequest', 'the id of a request must be a string or a number'));
    if (firstStringMember(request, 'jsonrpc') !== '2.0')
      return envelope(idNode, mcpError('invalidRequest', 'the jsonrpc of a request must be "2.0"'));
    const id = requestKey(idNode);
    const controller = new AbortController();
    running.set(id, controller);
    try {
      const result = await handleMethod(method, params, controller.signal);
      // A cancelled request has no response.
      return controller.signal.aborted ? undefined : envelope(idNode, result);
    } catch (error) {
      return envelope(idNode, mcpError('invalidParams', toFailure(error).message));
    } finally {
      running.delete(id);
    }
  };

  const handleNotification = (method: string, params: JsonNode | undefined): undefined => {
    const id = method === 'notifications/cancelled' ? getMember(params, 'requestId') : undefined;
    if (id) running.get(requestKey(id))?.abort(new Error('the client cancelled the request'));
  };

  return { receive, rejectMessage, close: async () => void (await Promise.all(pending)) };
}

// Equal for equal ids: a string can be written with different escapes. A number keeps every digit.
function requestKey(id: JsonNode): string {
  return kindOf(id) === 'string' ? JSON.stringify(stringOf(id)) : rawText(id);
}

// The id is repeated as it was written: it may have more digits than a double.
function envelope(id: JsonNode | undefined, response: RequestResult): string {
  return writeJson({ jsonrpc: '2.0', id: id ? new RawJson(rawText(id)) : null, ...response });
}
