/**
 * How often a character is repeated where the time must not be quadratic. Linear work takes milliseconds; quadratic work takes
 * minutes, and the test reaches its time limit however fast the machine is.
 */
export const LONG_RUN = 2_000_000;
