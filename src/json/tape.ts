/** The index of a document while it is being built; `depth` containers are open. */
export class Tape {
  depth = 0;
  inObject = false;
  #entries: Int32Array;
  #used = 0;
  // Of each open container its entry, made negative (and one less) for an object.
  #open: number[] = [];

  constructor(bytes: number) {
    this.#entries = new Int32Array(Math.max(48, Math.ceil(bytes / 24) * 3));
  }

  /** Adds a scalar or a key. */
  add(start: number, end: number): void {
    if (this.#used + 3 > this.#entries.length) this.#grow();
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

  /** The finished index, in memory of just its size. */
  finish(): Int32Array {
    return this.#entries.slice(0, this.#used);
  }

  #grow(): void {
    const larger = new Int32Array(this.#entries.length * 2);
    larger.set(this.#entries);
    this.#entries = larger;
  }
}
