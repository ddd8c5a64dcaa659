import { JsonError } from './json-error.ts';

/** The index of a document while it is being built; `depth` containers are open. */
export class Tape {
  depth = 0;
  inObject = false;
  readonly #most: number;
  #entries: Int32Array;
  #used = 0;
  // Of each open container its entry, made negative (and one less) for an object.
  #open: number[] = [];

  /** For a text of so many bytes, with at most `most` values and keys. */
  constructor(bytes: number, most: number) {
    this.#most = most;
    this.#entries = new Int32Array(3 * Math.max(16, Math.min(most, Math.ceil(bytes / 24))));
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
    this.#open.push(isObject ? -1 - this.#used : this.#used);
    this.add(start, start);
    this.depth += 1;
    this.inObject = isObject;
  }

  /** Ends the innermost container at `end`. */
  close(end: number): void {
    const entry = this.#open.pop() ?? 0;
    const at = entry < 0 ? -1 - entry : entry;
    this.#entries[at + 1] = end;
    this.#entries[at + 2] = this.#used / 3;
    this.depth -= 1;
    this.inObject = (this.#open.at(-1) ?? 0) < 0;
  }

  /** The finished index. What was set aside and not used takes no memory: the system gives a page when it is written. */
  finish(): Int32Array {
    return this.#entries.subarray(0, this.#used);
  }

  #grow(at: number): void {
    const entries = this.#entries.length / 3;
    if (entries >= this.#most) throw new JsonError(`it has more than ${this.#most} values`, at);
    const larger = new Int32Array(3 * Math.min(this.#most, entries * 2));
    larger.set(this.#entries);
    this.#entries = larger;
  }
}
