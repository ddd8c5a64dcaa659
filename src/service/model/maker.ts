import type { JsonNode } from '../../json/node.ts';
import type { Spend } from './budget.ts';
import type { SchemaReader } from './schema-reader.ts';

/** What the makers of values share. */
export interface Maker {
  readonly reader: SchemaReader;
  readonly spend: Spend;
  /** Notes the keyword that a value could not be made for; the first one is told. */
  readonly blame: (keyword: string) => void;
  /** JSON texts of values that keep to all of some schemas, the smallest first. */
  readonly values: (schemas: readonly JsonNode[], depth: number) => Generator<string>;
}

/** The first value, or undefined. */
export function firstOf(values: Iterable<string>): string | undefined {
  for (const value of values) return value;
  return undefined;
}
