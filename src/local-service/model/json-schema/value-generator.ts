import type { JsonNode } from '../../../json/json-node.ts';
import type { SpendSteps } from '../step-budget.ts';
import type { SchemaReader } from './schema-reader.ts';

/** What the makers of values share. */
export interface ValueGenerator {
  readonly reader: SchemaReader;
  readonly spend: SpendSteps;
  /** Notes the keyword that a value could not be made for; the first one is reported. */
  readonly reportConflict: (keyword: string) => void;
  /** JSON texts of values that keep to all of some schemas, the smallest first. */
  readonly valuesFor: (schemas: readonly JsonNode[], depth: number) => Generator<string>;
}

/** The first value, or undefined. */
export function firstValue(values: Iterable<string>): string | undefined {
  for (const value of values) return value;
  return undefined;
}
