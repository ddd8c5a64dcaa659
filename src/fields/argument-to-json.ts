import type { Shape } from './field.ts';

/**
 * The JSON text of one argument, or undefined if it does not have the type: an integer is digits, a number is a JSON
 * number. Both stay as typed; strings are literal, `null` and `@x` included.
 */
export function argumentToJson({ type }: Shape, argument: string): string | undefined {
  switch (type) {
    case 'integer':
      return /^-?(?:0|[1-9]\d*)$/.test(argument) ? argument : undefined;
    case 'number':
      return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(argument) ? argument : undefined;
    default:
      return JSON.stringify(argument);
  }
}
