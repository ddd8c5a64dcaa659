import { JsonError } from './json-error.ts';

// The entry of a value outside of all containers.
const NO_CONTAINER = -1;

/** Memory for the index of one document after the other: the next one that is given it ends the one before. */
export interface TapeBuffer {
  entries: Int32Array | undefined;
}

/** The index of a document while it is being built. */
export class Tape {
  /** The innermost container that is open is an object. */
  inObject = false;
  readonly #maxValues: number;
  readonly #buffer: TapeBuffer;
  #entries: Int32Array;
  #used = 0;
  // The entry of the innermost open container. Where it will say what follows it, it says what is around it until then:
  // so a document that is a million levels deep needs no stack beside it.
  #innermost = NO_CONTAINER;

  /** With room for `expected` values and keys at first, and for at most `most`. */
  constructor(expectedValues: number, maxValues: number, buffer: TapeBuffer = { entries: undefined }) {
    const needed = 3 * Math.min(maxValues, Math.max(16, expectedValues));
    this.#maxValues = maxValues;
    this.#buffer = buffer;
    this.#entries = buffer.entries && buffer.entries.length >= needed ? buffer.entries : new Int32Array(needed);
    buffer.entries = this.#entries;
  }

  /** A container is open. */
  get isOpen(): boolean {
    return this.#innermost !== NO_CONTAINER;
  }

  /** Adds a scalar or a key. Throws JsonError where there are too many. */
  add(start: number, end: number): void {
    if (this.#used + 3 > this.#entries.length) this.#grow(start);
    this.#entries[this.#used] = start;
    this.#entries[this.#used + 1] = end;
    this.#entries[this.#used + 2] = this.#used / 3 + 1;
    this.#used += 3;
  }

  /** Adds an object or a list that ends later. */
  open(start: number, isObject: boolean): void {
    this.add(start, start);
    const entry = this.#used / 3 - 1;
    this.#entries[entry * 3 + 2] = (this.#innermost + 1) * 2 + Number(this.inObject);
    this.#innermost = entry;
    this.inObject = isObject;
  }

  /** Ends the innermost container at `end`. */
  close(end: number): void {
    const at = this.#innermost * 3;
    const around = this.#entries[at + 2] ?? 0;
    this.#entries[at + 1] = end;
    this.#entries[at + 2] = this.#used / 3;
    this.#innermost = (around >> 1) - 1;
    this.inObject = (around & 1) === 1;
  }

  /** The finished index. */
  finish(): Int32Array {
    return this.#entries.subarray(0, this.#used);
  }

  #grow(at: number): void {
    const entries = this.#entries.length / 3;
    if (entries >= this.#maxValues) throw new JsonError(`it has more than ${this.#maxValues} values`, at);
    const larger = new Int32Array(3 * Math.min(this.#maxValues, entries * 2));
    larger.set(this.#entries);
    this.#entries = larger;
    this.#buffer.entries = larger;
  }
}
