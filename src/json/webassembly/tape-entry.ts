/** The size of an entry of the tape: three numbers. */
export const ENTRY_BYTES: i32 = 12;

/** The field of an entry with the offset of its first byte. */
export const START: i32 = 0;

/** The field with the offset after its last byte. */
export const END: i32 = 4;

/** The field with the number of the entry that follows it and all it contains; of a key, its signature. */
export const NEXT: i32 = 8;

/** In place of the signature of a key whose text has to be compared: it has escapes. */
export const NO_SIGNATURE: i32 = 0;
