import { type Buffer, isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import type { JsonDocument } from './json-node.ts';

/** As parseJson, at an offset, whatever follows the value. Undefined if parseJson has to decide. The document lasts until the next call. */
type FastParser = (text: Buffer, offset: number) => JsonDocument | undefined;

interface Parser {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly reserveMemory: (bytes: number) => 0 | 1;
  readonly buildTape: (start: number, tape: number) => number;
  readonly hasDistinctKeys: (text: number, tape: number, tapeEnd: number) => 0 | 1;
}

// The types of Node leave WebAssembly to those of browsers.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Parser };
};

// No text is at the address 0, which marks a malformed value.
const TEXT_ADDRESS = 16;

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
  const { memory, reserveMemory, buildTape, hasDistinctKeys } = parser;
  let copied: { readonly text: Buffer; readonly from: number } | undefined;
  let tapeAddress = TEXT_ADDRESS;
  const copyText = (text: Buffer, from: number): boolean => {
    copied = undefined;
    // A zero byte follows, and the tape starts at a multiple of four.
    const textEnd = TEXT_ADDRESS + text.length - from;
    tapeAddress = textEnd + 4 - (textEnd % 4);
    if (reserveMemory(tapeAddress) === 0) return false;
    const bytes = new Uint8Array(memory.buffer);
    bytes.set(text.subarray(from), TEXT_ADDRESS);
    bytes[textEnd] = 0;
    copied = { text, from };
    return true;
  };
  return (text, offset) => {
    if ((copied?.text !== text || offset < copied.from) && !copyText(text, offset)) return undefined;
    const base = TEXT_ADDRESS - (copied?.from ?? 0);
    const tapeBytes = buildTape(base + offset, tapeAddress);
    if (tapeBytes === 0) return undefined;
    const tape = new Int32Array(memory.buffer, tapeAddress, tapeBytes / 4);
    const bytes = text.subarray(offset, offset + (tape[1] ?? 0));
    if (!isUtf8(bytes)) return undefined;
    const areKeysDistinct = hasDistinctKeys(base + offset, tapeAddress, tapeAddress + tapeBytes) === 1;
    return { bytes, tape, hasDistinctKeys: areKeysDistinct };
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
