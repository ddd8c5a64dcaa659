import type { Shape } from './field.ts';

/**
 * The JSON text of one word of a command line, or undefined where it cannot be such a value: an integer takes digits,
 * a number what JSON calls a number. Both stay as typed; text is literal, so `null` and `@x` are those characters.
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
