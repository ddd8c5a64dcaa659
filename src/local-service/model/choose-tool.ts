import { firstStringMember, getMember, itemsAt, type JsonNode, kindOf, rawText } from '../../json/json-node.ts';
import { HttpError } from '../http-error.ts';

/** A message, of its content only the text. */
export interface ChatMessage {
  readonly role: string;
  readonly text: string;
}

/** A tool that the built-in model calls, with the JSON text of its arguments. */
export interface ChosenTool {
  readonly name: string;
  readonly arguments: string;
}

/**
 * The tool that a chat body calls for (docs/servers.md): the named one, any with `required`, and with `auto` one that the
 * last message besides instructions names, if it is the user's. Throws HttpError 400 if there is no such tool.
 */
export async function chooseTool(body: JsonNode, last: ChatMessage): Promise<ChosenTool | undefined> {
  const tool = findTool(body, last);
  if (!tool) return undefined;
  const parameters = getMember(tool, 'parameters');
  if (!parameters || kindOf(parameters) !== 'object') return { name: toolName(tool), arguments: '{}' };
  const { smallestValue } = await import('./smallest-value.ts');
  const value = smallestValue(rawText(parameters));
  // A schema without a type allows values that are not arguments.
  return { name: toolName(tool), arguments: value.startsWith('{') ? value : '{}' };
}

function findTool(body: JsonNode, last: ChatMessage): JsonNode | undefined {
  const choice = getMember(body, 'tool_choice');
  const tools = itemsAt(body, 'tools').flatMap((tool) => getMember(tool, 'function') ?? []);
  if (choice && kindOf(choice) === 'object') {
    const name = firstStringMember(getMember(choice, 'function') ?? choice, 'name') ?? '';
    const named = tools.find((tool) => toolName(tool) === name);
    if (named) return named;
    throw new HttpError(400, `tool_choice names the tool ${JSON.stringify(name)}, which is not in tools`);
  }
  switch (firstStringMember(body, 'tool_choice')) {
    case 'required':
      if (!tools[0]) throw new HttpError(400, 'tool_choice "required" needs at least one tool in tools');
      return tools[0];
    case 'auto': {
      const words = last.role === 'user' ? wordsOf(last.text) : new Set();
      return tools.find((tool) => words.has(toolName(tool)));
    }
    default:
      return undefined;
  }
}

function toolName(tool: JsonNode): string {
  return firstStringMember(tool, 'name') ?? '';
}

// Words as written, and without trailing punctuation.
function wordsOf(text: string): ReadonlySet<string> {
  const words = text.split(/[^\w.-]+/).flatMap((word) => [word, word.replace(/(?<![.-])[.-]+$/, '')]);
  return new Set(words.filter((word) => word !== ''));
}
