import { type Buffer, isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import type { JsonDocument } from './json-node.ts';

/**
 * Parses the value at an offset of a text as parseJson does, whatever follows it. Undefined if no complete and valid value
 * is there, and for one that takes too much memory: parseJson determines which. The document lasts until the next call. The text
 * is copied once if its values are parsed in order.
 */
export type FastParser = (text: Buffer, offset: number) => JsonDocument | undefined;

// The exports of the modules in webassembly/.
interface Parser {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => void };
  readonly buildTape: (start: number, tape: number, tapeEnd: number) => number;
  readonly endOfValue: () => number;
  readonly hasDistinctKeys: (text: number, tape: number, tapeEnd: number) => 0 | 1;
}

// The types of Node leave WebAssembly to those of browsers.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Parser };
};

// The results of buildTape that are not lengths.
const MALFORMED_VALUE = 0;
const TAPE_FULL = -1;

// No text is at the address that marks a malformed value.
const TEXT_ADDRESS = 16;

const PAGE_BYTES = 64 * 1024;

const MAX_MEMORY_BYTES = 1024 * 1024 * 1024;

// The memory is never freed.
const GROWTH_FACTOR = 1.25;

let sharedParser: { readonly parse: FastParser | undefined } | undefined;

/** The parser of this process, loaded when it is first needed. Undefined if it cannot run. */
export const parseFast: FastParser = (text, offset) => {
  sharedParser ??= { parse: createFastParser(new URL('./fast-parser.wasm', import.meta.url)) };
  return sharedParser.parse?.(text, offset);
};

/** A parser in WebAssembly, for valid text. Undefined if it cannot run, or if `file`, which the build puts beside the bundle, is missing. */
export function createFastParser(file: URL): FastParser | undefined {
  // Its memory is little-endian, whereas an Int32Array has the order of the machine.
  const parser = endianness() === 'LE' ? loadParser(file) : undefined;
  if (!parser) return undefined;
  const { memory, buildTape, endOfValue, hasDistinctKeys } = parser;
  // The text in the memory, from an offset on.
  let copied: { readonly text: Buffer; readonly from: number } | undefined;
  let tapeAddress = TEXT_ADDRESS;
  const copyText = (text: Buffer, from: number): boolean => {
    copied = undefined;
    // A zero byte follows, and the tape starts at a multiple of four.
    const textEnd = TEXT_ADDRESS + text.length - from;
    tapeAddress = textEnd + 4 - (textEnd % 4);
    if (!growMemory(memory, tapeAddress + PAGE_BYTES)) return false;
    const bytes = new Uint8Array(memory.buffer);
    bytes.set(text.subarray(from), TEXT_ADDRESS);
    bytes[textEnd] = 0;
    copied = { text, from };
    return true;
  };
  return (text, offset) => {
    if ((copied?.text !== text || offset < copied.from) && !copyText(text, offset)) return undefined;
    const base = TEXT_ADDRESS - (copied?.from ?? 0);
    let tapeBytes = buildTape(base + offset, tapeAddress, memory.buffer.byteLength);
    while (tapeBytes === TAPE_FULL && growMemory(memory, GROWTH_FACTOR * memory.buffer.byteLength))
      tapeBytes = buildTape(base + offset, tapeAddress, memory.buffer.byteLength);
    if (tapeBytes === MALFORMED_VALUE || tapeBytes === TAPE_FULL) return undefined;
    const bytes = text.subarray(offset, endOfValue() - base);
    if (!isUtf8(bytes)) return undefined;
    return {
      bytes,
      tape: new Int32Array(memory.buffer, tapeAddress, tapeBytes / 4),
      hasDistinctKeys: hasDistinctKeys(base + offset, tapeAddress, tapeAddress + tapeBytes) === 1,
    };
  };
}

function loadParser(file: URL): Parser | undefined {
  try {
    return new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file))).exports;
  } catch {
    // Not built, or a machine without the instructions or the address space.
    return undefined;
  }
}

// True if the memory has this many bytes afterwards.
function growMemory(memory: Parser['memory'], bytes: number): boolean {
  const missing = bytes - memory.buffer.byteLength;
  if (missing <= 0) return true;
  if (bytes > MAX_MEMORY_BYTES) return false;
  try {
    memory.grow(Math.ceil(missing / PAGE_BYTES));
    return true;
  } catch {
    return false;
  }
}
