/** JSON text that is already written, so that a number or a whole document can be placed without reading it. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value that writeJson can write: JSON's own kinds, integers of any size, and text that is JSON already. */
export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | RawJson
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/** Compact JSON text of a value we made ourselves; members that are undefined are left out. */
export function writeJson(value: Json): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(writeJson).join(',')}]`;
  const members = Object.entries(value).flatMap(([key, item]) =>
    item === undefined ? [] : [`${JSON.stringify(key)}:${writeJson(item)}`],
  );
  return `{${members.join(',')}}`;
}

// Array.isArray does not narrow a readonly array away from the object that follows it in the union.
function isList(value: readonly Json[] | { readonly [key: string]: Json | undefined }): value is readonly Json[] {
  return Array.isArray(value);
}
