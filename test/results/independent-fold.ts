import type { Json, JsonObject } from './recorded-streams.ts';

/** The response that chunks make, and the fields of which it lacks a value. */
export interface Folded {
  readonly response: JsonObject;
  readonly lost: readonly string[];
}

// The rules of docs/internals/servers.md by path, typed by hand. Without an entry, a field follows the rules of unknown ones.
const rules: { readonly [path: string]: 'first' | 'last' | 'joined' | 'appended' | 'latest of each field' } = {
  id: 'first',
  model: 'first',
  created: 'first',
  service_tier: 'last',
  system_fingerprint: 'last',
  usage: 'latest of each field',
  'choices.index': 'first',
  'choices.finish_reason': 'last',
  'choices.stop_reason': 'last',
  'choices.token_ids': 'appended',
  'choices.logprobs.content': 'appended',
  'choices.logprobs.refusal': 'appended',
  'choices.message.role': 'first',
  'choices.message.content': 'joined',
  'choices.message.refusal': 'joined',
  'choices.message.reasoning': 'joined',
  'choices.message.annotations': 'appended',
  'choices.message.audio.id': 'first',
  'choices.message.audio.data': 'joined',
  'choices.message.audio.transcript': 'joined',
  'choices.message.audio.expires_at': 'last',
  'choices.message.function_call.name': 'first',
  'choices.message.function_call.arguments': 'joined',
  'choices.message.tool_calls.id': 'first',
  'choices.message.tool_calls.type': 'first',
  'choices.message.tool_calls.function.name': 'first',
  'choices.message.tool_calls.function.arguments': 'joined',
  'choices.message.tool_calls.custom.name': 'first',
  'choices.message.tool_calls.custom.input': 'joined',
  ...Object.fromEntries(
    Object.entries({
      type: 'first',
      id: 'first',
      format: 'first',
      index: 'first',
      text: 'joined',
      summary: 'joined',
      data: 'joined',
      signature: 'joined',
    } as const).map(([name, rule]) => [`choices.message.reasoning_details.${name}`, rule]),
  ),
};

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);
const isEmptyScalar = (value: Json): boolean =>
  value === null || value === '' || value === 0 || ['[]', '{}'].includes(JSON.stringify(value));
const isEmpty = (value: Json): boolean =>
  isEmptyScalar(value) || (isObject(value) && Object.values(value).every(isEmptyScalar));
const same = (left: Json, right: Json): boolean => JSON.stringify(left) === JSON.stringify(right);

/** Folds all chunks at once: for each field, the values that all chunks have, in order. */
export function independentFold(chunks: readonly JsonObject[]): Folded {
  const lost = new Set<string>();
  const { object: _, obfuscation: __, ...fields } = collect(chunks);
  const response: { [name: string]: Json } = { object: 'chat.completion' };
  for (const [name, values] of Object.entries(fields))
    response[name] = name === 'choices' ? foldChoices(values) : foldField(values, name, false);
  return { response, lost: [...lost].sort() };

  function foldField(values: readonly Json[], path: string, isPiece: boolean): Json {
    const rule = rules[path];
    const given = values.filter((value) => value !== null);
    const real = given.filter((value) => !isEmpty(value));
    if (rule === 'joined') {
      if (given.length === 0) return path.endsWith('arguments') ? '' : null;
      const texts = given.filter((value) => !isObject(value) || path.endsWith('arguments'));
      const others = given.filter((value) => !texts.includes(value));
      if (real.length > 0 && !real.some((value) => texts.includes(value))) return foldUnknown(others, path, isPiece);
      if (others.length > 0) lost.add(path);
      for (const name of lostOfParts(texts.filter(isArray).flat(), path)) lost.add(name);
      return texts
        .map((value) => (isArray(value) ? partsText(value) : isObject(value) ? JSON.stringify(value) : value))
        .join('');
    }
    if (rule === 'appended') return given.length === 0 ? null : given.flat();
    if (rule === 'latest of each field')
      return given.length === 0
        ? null
        : mapValues(collect(given.filter(isObject)), (inner, name) => latest(inner, `${path}.${name}`));
    if (rule === 'first' || rule === 'last') {
      if (real.some((value) => typeof value === 'string' && !same(value, real[0] ?? null))) lost.add(path);
      return (rule === 'first' ? real[0] : real.at(-1)) ?? given[0] ?? null;
    }
    return foldUnknown(given, path, isPiece);
  }

  function latest(values: readonly Json[], path: string): Json {
    const given = values.filter((value) => value !== null);
    if (given.some(isObject))
      return mapValues(collect(given.filter(isObject)), (inner, name) => latest(inner, `${path}.${name}`));
    return given.filter((value) => !isEmpty(value)).at(-1) ?? given[0] ?? null;
  }

  function foldUnknown(given: readonly Json[], path: string, isPiece: boolean): Json {
    const [first = null] = given;
    if (given.every((value) => same(value, first))) return first;
    const kind = given.find((value) => !isEmpty(value)) ?? first;
    if (isObject(kind))
      return mapValues(collect(given.filter(isObject)), (inner, name) => foldField(inner, `${path}.${name}`, isPiece));
    if (isArray(kind)) return foldArrays(given.filter(isArray), path, isPiece);
    if (typeof kind === 'string' && isPiece) return given.join('');
    return newest(given, path);
  }

  function newest(given: readonly Json[], path: string): Json {
    const real = given.filter((value) => value !== null && value !== '');
    for (const [at, value] of real.entries()) {
      const before = real[at - 1];
      if (before === undefined || same(before, value)) continue;
      if (!(typeof before === 'string' && typeof value === 'string' && value.startsWith(before))) lost.add(path);
    }
    return real.at(-1) ?? given[0] ?? null;
  }

  function foldArrays(arrays: readonly (readonly Json[])[], path: string, isPiece: boolean): Json {
    const isCumulative = arrays.every((array, at) =>
      (arrays[at - 1] ?? []).every((item, index) => same(item, array[index] ?? null)),
    );
    const items = isCumulative && !isPiece ? (arrays.at(-1) ?? []) : arrays.flat();
    const groups = new Map<string, Json[]>();
    for (const [at, item] of items.entries()) {
      const index = isObject(item) ? item.index : undefined;
      const type = isObject(item) ? item.type : undefined;
      const key =
        index === undefined
          ? `#${at}`
          : ([...groups.keys()].find(
              (one) => one === `${index} ${type}` || (type === undefined && one.startsWith(`${index} `)),
            ) ?? `${index} ${type}`);
      groups.set(key, [...(groups.get(key) ?? []), item]);
    }
    return Array.from(groups.values(), (group) =>
      group.length === 1
        ? (group[0] ?? null)
        : mapValues(collect(group.filter(isObject)), (inner, name) => foldField(inner, `${path}.${name}`, isPiece)),
    );
  }

  function foldChoices(values: readonly Json[]): Json {
    const all = values.filter(isArray).flat().filter(isObject);
    const indexes = [...new Set(all.map(({ index }) => Number(index)))].sort((left, right) => left - right);
    return indexes.map((index) => {
      const {
        delta: deltas = [],
        message: wholes = [],
        ...beside
      } = collect(all.filter((choice) => choice.index === index));
      const pieces = collect(deltas.filter(isObject));
      const message: { [name: string]: Json } = {};
      for (const [name, inner] of Object.entries(pieces))
        message[name] = name === 'tool_calls' ? foldCalls(inner) : foldField(inner, `choices.message.${name}`, true);
      const thoughts = (pieces.content ?? []).filter(isArray).flat().map(thinkingText).join('');
      if (thoughts !== '') message.reasoning = `${message.reasoning ?? ''}${thoughts}`;
      for (const whole of wholes.filter(isObject))
        for (const [name, value] of Object.entries(whole))
          if (isEmpty(message[name] ?? null) && !(isEmpty(value) && deltas.length > 0)) message[name] = value;
          else if (!isEmpty(value) && !String(message[name]).startsWith(String(value)))
            lost.add(`choices.message.${name}`);
      const { role, ...others } = message;
      const isMessage = deltas.length + wholes.length > 0;
      return {
        ...mapValues(beside, (inner, name) =>
          name === 'logprobs' ? foldLogprobs(inner) : foldField(inner, `choices.${name}`, false),
        ),
        ...(isMessage ? { message: role === undefined ? others : { role, ...others } } : {}),
      };
    });
  }

  function foldLogprobs(values: readonly Json[]): Json {
    const objects = values.filter(isObject);
    if (objects.length === 0) return null;
    return mapValues(collect(objects), (inner, name) => foldField(inner, `choices.logprobs.${name}`, false));
  }

  // A call ends where the next one at its index begins: with another id, after complete arguments.
  function foldCalls(values: readonly Json[]): Json {
    const calls: { readonly index: number; readonly pieces: JsonObject[] }[] = [];
    const argumentsOf = (pieces: readonly JsonObject[]): string =>
      pieces.map(({ function: called }) => (isObject(called) ? called.arguments : '')).join('');
    for (const piece of values.flat().filter(isObject)) {
      const index = Number(piece.index ?? 0);
      const current = calls.findLast((one) => one.index === index);
      const ids = current?.pieces.map(({ id }) => id).filter(Boolean) ?? [];
      const isNew = piece.id && ids.length > 0 && !ids.includes(piece.id) && isJson(argumentsOf(current?.pieces ?? []));
      if (
        calls.some(
          ({ pieces: [only] }) =>
            only &&
            only.index !== index &&
            piece.id &&
            only.id === piece.id &&
            same(only.function ?? null, piece.function ?? null),
        )
      )
        continue;
      if (current && !isNew) current.pieces.push(piece);
      else calls.push({ index, pieces: [piece] });
    }
    if (values.every((value) => value === null)) return null;
    return calls
      .sort((left, right) => left.index - right.index)
      .map(({ pieces }) => {
        const { index: _, ...fields } = collect(pieces);
        return mapValues(fields, (inner, name) => foldParts(inner, `choices.message.tool_calls.${name}`));
      });
  }

  function foldParts(values: readonly Json[], path: string): Json {
    if (!['function', 'custom'].includes(path.split('.').at(-1) ?? '')) return foldField(values, path, true);
    return mapValues(collect(values.filter(isObject)), (inner, name) => foldField(inner, `${path}.${name}`, true));
  }
}

const names: { readonly [name: string]: string } = { reasoning_content: 'reasoning' };

// The values of each field, in the order of the objects; a field with two names counts once in an object.
function collect(objects: readonly JsonObject[]): { [name: string]: Json[] } {
  const values: { [name: string]: Json[] } = {};
  for (const object of objects)
    for (const [key, value] of Object.entries(object)) {
      const name = names[key] ?? key;
      if (name !== key && object[name]) continue;
      values[name] ??= [];
      values[name].push(value);
    }
  return values;
}

function mapValues(
  values: { readonly [name: string]: Json[] },
  map: (values: Json[], name: string) => Json,
): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([name, inner]) => [name, map(inner, name)]));
}

// What the text and the thoughts of the content do not show.
function lostOfParts(parts: readonly Json[], path: string): string[] {
  return parts.filter(isObject).flatMap(({ type = null, text, thinking, index: _, ...more }) => {
    if (text === undefined && type !== 'thinking') return [`choices.message.content.${type}`];
    const names = Object.keys(more).filter((name) => !isEmpty(more[name] ?? null));
    const inner = isArray(thinking ?? null) ? lostOfParts(thinking as readonly Json[], `${path}.thinking`) : [];
    return [...names.map((name) => `${path}.${name}`), ...inner];
  });
}

function partsText(parts: readonly Json[]): string {
  return parts.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('');
}

function thinkingText(part: Json): string {
  const { thinking = '' } = isObject(part) ? part : {};
  return isArray(thinking) ? partsText(thinking) : String(thinking);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The leaves of chunks that the response lacks, although no name in `lost` covers them; empty values say nothing. */
export function silentLosses(chunks: readonly JsonObject[], response: JsonObject, lost: readonly string[]): string[] {
  const texts = new Map<string, string>();
  for (const [path, value] of leaves(response)) texts.set(path, `${texts.get(path) ?? ''}\n${value}`);
  return chunks.flatMap((chunk) =>
    Array.from(leaves(chunk)).flatMap(([path, value]) => {
      const isKnown = /^(object|obfuscation|usage\..*|choices\.message\.(tool_calls\.index|content\.type))$/.test(path);
      const isCovered = lost.some((name) => path === name || path.startsWith(`${name}.`));
      return isKnown || isCovered || (texts.get(path) ?? '').includes(value) ? [] : [`${path}: ${value}`];
    }),
  );
}

function* leaves(value: Json, path = ''): Generator<readonly [path: string, text: string]> {
  if (isArray(value)) for (const item of value) yield* leaves(item, path);
  else if (isObject(value) && path.endsWith('arguments')) yield [path, JSON.stringify(value)];
  else if (isObject(value))
    for (const [key, inner] of Object.entries(value)) {
      const isThought = path.endsWith('message.content') && key === 'thinking';
      const name = key === 'delta' ? 'message' : (names[key] ?? key);
      const isText = path.endsWith('message.content') && name === 'text';
      if (isThought)
        yield* isArray(inner)
          ? [['choices.message.reasoning', partsText(inner)] as const]
          : leaves(inner, 'choices.message.reasoning');
      else yield* leaves(inner, path === '' ? name : isText ? path : `${path}.${name}`);
    }
  else if (!isEmpty(value)) yield [path, String(value)];
}

/** The field that a warning about a lost value names. */
export function lostField(warning: string): string {
  const [, field, type] = /(?:value of (\S+)|content part of type (\S+)) was left out/.exec(warning) ?? [];
  return field ?? (type === undefined ? warning : `choices.message.content.${type}`);
}
