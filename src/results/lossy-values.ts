import { type JsonKind, kindOf, rawText } from '../json/json-node.ts';
import { compareNumberLiterals } from '../json/number-literal.ts';
import { tryParseJson } from '../json/parse-json.ts';

/**
 * Warnings about values of JSON, or of lines of JSON, that an output changes: strings with half of a surrogate pair, which only
 * JSON can represent, and with --jq also numbers with exponents beyond those of jq. Of each kind, the first value is named.
 */
export function lossyValueWarnings(json: string, flag: '--jq' | '--format yaml'): string[] {
  const [string, number] = [
    findScalar(json, 'string', hasLoneSurrogate),
    flag === '--jq' ? findScalar(json, 'number', isBeyondJq) : undefined,
  ];
  return [
    ...(string ? [`${flag} prints U+FFFD for half of a surrogate pair in ${string.slice(0, MAX_VALUE_CHARS)}`] : []),
    ...(number ? [`--jq may print another number for ${number.slice(0, MAX_VALUE_CHARS)}`] : []),
  ];
}

const MAX_VALUE_CHARS = 80;

// Pairs and other escapes are matched as a whole, so that what remains is half of a pair.
const ESCAPE = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(?<half>\\u[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

/** JSON text with U+FFFD in place of each half of a surrogate pair, which jq rejects. */
export function withoutLoneSurrogates(json: string): string {
  if (!/\\u[dD][89a-fA-F]/.test(json)) return json;
  return json.replace(ESCAPE, (text, half: string | undefined) => (half ? '\\ufffd' : text));
}

function hasLoneSurrogate(json: string): boolean {
  return withoutLoneSurrogates(json) !== json;
}

// The time to compare numbers grows faster than their length.
const MAX_COMPARED_CHARS = 1000;

const LONG_EXPONENT = /[eE][+-]?\d{9}/;

function isBeyondJq(number: string): boolean {
  if (!LONG_EXPONENT.test(number)) return false;
  if (number.length > MAX_COMPARED_CHARS) return true;
  const magnitude = number.replace('-', '');
  const isTooLarge = compareNumberLiterals(magnitude, '1e1000000000') >= 0;
  return (
    isTooLarge || (compareNumberLiterals(magnitude, '0') > 0 && compareNumberLiterals(magnitude, '1e-1000000000') < 0)
  );
}

function findScalar(json: string, kind: JsonKind, isWanted: (text: string) => boolean): string | undefined {
  if (!(kind === 'string' ? hasLoneSurrogate(json) : LONG_EXPONENT.test(json))) return undefined;
  const whole = tryParseJson(json);
  for (const root of whole
    ? [whole]
    : json
        .split('\n')
        .filter(Boolean)
        .map((line) => tryParseJson(line))) {
    // Whatever it holds, it is not known to be safe.
    if (!root) return 'a value that svc cannot locate';
    const { doc } = root;
    for (let at = 0; at * 3 < doc.tape.length; at += 1) {
      const node = { doc, at };
      if (kindOf(node) === kind && isWanted(rawText(node))) return rawText(node);
    }
  }
  return undefined;
}
