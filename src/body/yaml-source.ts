import type { Issue } from '../errors.ts';
import { createNodeFinder } from '../json/node-finder.ts';
import { parseJson } from '../json/parse-json.ts';
import { createPositionLookup } from '../json/text-position.ts';
import { decodeUtf8 } from '../json/utf8.ts';
import { isIssue, type JsonSource, parseJsonSource } from './json-source.ts';
import { YamlError, yamlToJson } from './yaml-to-json.ts';

/**
 * The source of a YAML body (1.2, core schema) as compact JSON in which numbers keep their text; positions are those of the
 * YAML file. Returns the issue, with line and column, of text that is not YAML or has no JSON form.
 */
export function parseYamlSource(label: string, bytes: Uint8Array): JsonSource | Issue {
  // Text that is not UTF-8 is reported as for JSON.
  const invalid = invalidTextIssue(label, bytes);
  if (invalid) return invalid;
  const text = decodeUtf8(bytes).toString();
  const positionInYaml = createCharPositionLookup(text);
  try {
    const { json, offsets } = yamlToJson(text);
    const doc = parseJson(json);
    return {
      label,
      doc,
      find: createNodeFinder(doc),
      position: (offset) => positionInYaml(offsets.get(offset) ?? 0),
    };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const { line, column } = positionInYaml(error.offset);
    return { path: '', at: `${label}:${line}:${column}`, message: `not a YAML body: ${error.message}` };
  }
}

function invalidTextIssue(label: string, bytes: Uint8Array): Issue | undefined {
  const probe = parseJsonSource(label, bytes);
  return isIssue(probe) && /UTF-/.test(probe.message) ? probe : undefined;
}

// The parser counts UTF-16 units; positions count bytes.
function createCharPositionLookup(text: string): (charOffset: number) => { line: number; column: number } {
  const position = createPositionLookup(Buffer.from(text));
  return (charOffset) => position(Buffer.byteLength(text.slice(0, charOffset)));
}
