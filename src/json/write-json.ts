/** JSON text that is already written, so that a number or a whole document can be placed without reading it. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value that writeJson can write: JSON's own kinds, integers of any size, and text that is JSON already. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | RawJson
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/** The compact JSON text of a value that svc built; undefined members are left out. */
export function writeJson(value: JsonValue): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isJsonArray(value)) return `[${value.map(writeJson).join(',')}]`;
  const members = Object.entries(value).flatMap(([key, item]) =>
    item === undefined ? [] : [`${JSON.stringify(key)}:${writeJson(item)}`],
  );
  return `{${members.join(',')}}`;
}

// Array.isArray does not narrow a readonly array away from the object that follows it in the union.
function isJsonArray(
  value: readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined },
): value is readonly JsonValue[] {
  return Array.isArray(value);
}
