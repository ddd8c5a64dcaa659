import { OPEN_OBJECT } from '../json-bytes.ts';
import { ENTRY_BYTES, NEXT, NO_SIGNATURE, START } from './tape-entry.ts';

// More keys are not compared.
const MAX_COMPARED_KEYS: i32 = 32;

/**
 * False if an object may have a key twice, by the signatures of the keys in the tape between two addresses; `text` is the
 * address of its first byte.
 */
export function hasDistinctKeys(text: i32, tape: i32, tapeEnd: i32): bool {
  // The keys of an earlier object, which differ. Most objects have the same keys as the one before.
  let reference = 0;
  let referenceEnd = 0;
  for (let object = tape; object < tapeEnd; object += ENTRY_BYTES) {
    const isObject = <i32>load<u8>(text + load<i32>(object + START)) === OPEN_OBJECT;
    if (!isObject) continue;
    const firstKey = object + ENTRY_BYTES;
    const end = entryAfter(object, tape);
    let expected = reference;
    let count = 0;
    for (let key = firstKey; key < end; key = entryAfter(key + ENTRY_BYTES, tape)) {
      const signature = load<i32>(key + NEXT);
      if (expected < referenceEnd && load<i32>(expected + NEXT) === signature) {
        expected = entryAfter(expected + ENTRY_BYTES, tape);
      } else {
        if (signature === NO_SIGNATURE || count === MAX_COMPARED_KEYS) return false;
        for (let other = firstKey; other < key; other = entryAfter(other + ENTRY_BYTES, tape))
          if (load<i32>(other + NEXT) === signature) return false;
        expected = end;
        reference = firstKey;
        referenceEnd = end;
      }
      count += 1;
    }
  }
  return true;
}

// The entry after a value and all it contains.
function entryAfter(value: i32, tape: i32): i32 {
  return tape + load<i32>(value + NEXT) * ENTRY_BYTES;
}
