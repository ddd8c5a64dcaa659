import {
  firstStringMember,
  getMember,
  itemsOf,
  type JsonNode,
  kindOf,
  rawText,
  stringOf,
} from '../../json/json-node.ts';
import { nodeAtPath } from '../../json/json-path.ts';
import { HttpError } from '../http-error.ts';

/** A tool that the built-in model calls, with the JSON text of its arguments. */
export interface ChosenTool {
  readonly name: string;
  readonly arguments: string;
}

/** The message that a chat ends with. */
export interface LastMessage {
  readonly role: string;
  readonly text: string;
}

/**
 * The tool that a chat body calls for (docs/servers.md): the named one, any with `required`, and with `auto` one that the
 * last message names, if it is the user's. Throws HttpError 400 where there is no such tool.
 */
export async function chooseTool(body: JsonNode, last: LastMessage): Promise<ChosenTool | undefined> {
  const choice = getMember(body, 'tool_choice');
  if (!choice) return undefined;
  const tools = Array.from(itemsOf(getMember(body, 'tools') ?? choice)).flatMap(
    (tool) => getMember(tool, 'function') ?? [],
  );
  if (kindOf(choice) === 'object') {
    const name = firstStringMember(getMember(choice, 'function') ?? choice, 'name') ?? '';
    const named = tools.find((tool) => toolName(tool) === name);
    if (!named)
      throw new HttpError(400, `tool_choice names the tool ${JSON.stringify(name)}, which tools does not have`);
    return callOf(named);
  }
  switch (kindOf(choice) === 'string' ? stringOf(choice) : 'none') {
    case 'required':
      if (!tools[0]) throw new HttpError(400, 'tool_choice "required" needs at least one tool in tools');
      return callOf(tools[0]);
    case 'auto': {
      const named = last.role === 'user' && tools.find((tool) => containsWord(last.text, toolName(tool)));
      return named ? callOf(named) : undefined;
    }
    default:
      return undefined;
  }
}

function toolName(tool: JsonNode): string {
  return firstStringMember(tool, 'name') ?? '';
}

async function callOf(tool: JsonNode): Promise<ChosenTool> {
  const parameters = nodeAtPath(tool, ['parameters']);
  if (!parameters || kindOf(parameters) !== 'object') return { name: toolName(tool), arguments: '{}' };
  const { smallestValue } = await import('./smallest-value.ts');
  const text = smallestValue(rawText(parameters));
  // A schema without a type allows values that are not arguments.
  return { name: toolName(tool), arguments: text.startsWith('{') ? text : '{}' };
}

function containsWord(text: string, word: string): boolean {
  return word !== '' && text.split(/[^\w.-]+/).some((part) => part === word || part.replace(/[.-]+$/, '') === word);
}
