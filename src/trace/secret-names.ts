/** True for the name of a variable, flag, header or parameter that says that its value is secret. */
export function isSecretName(name: string): boolean {
  return /passw|passphrase|secret|token|credential|cookie|authorization|signature|private|(^|[-_.])(auth|pwd|pass|pat|sig)($|[-_.])|api[-_.]?key|access[-_.]?key|(^|[-_.])key$|apikey/i.test(
    name,
  );
}
