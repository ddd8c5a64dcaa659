import { type JsonNode, membersOf } from '../json/json-node.ts';
import { compactJson } from '../json/write-json.ts';

/** The parameters of an `experimental_config` by name, as compact JSON with every digit; empty for anything but an object. */
export function parametersOf(config: JsonNode | undefined): Map<string, string> {
  return new Map(Array.from(config ? membersOf(config) : [], ({ key, value }) => [key, compactJson(value)]));
}
