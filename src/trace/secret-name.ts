const SECRET =
  /pass(w|phrase|code)|secret|token|bearer|credential|cookie|authorization|signature|private|\b(auth|pwd?|(store|key)?pass|pat|sig|jwt|otp|psk)\b|api-?key|access-?key|\bkey$/;

// Counts of tokens and keys of data, and words that only begin like a secret one.
const ORDINARY =
  /\b(max|min|num|n)-?((new|input|output|prompt|completion|context)-?)*tokens?\b|\b(total|remaining|prompt|completion)-?tokens\b|\btokens?-(count|limit|budget|length|type|per)\b|tokeni[sz]\w*|secretar(y|ies)\b|\bpass-(rate|count)\b|\b(public|primary|foreign|sort|partition|cache|idempotency)-?key\b/g;

/** True for the name of a variable, flag, header or parameter that says that its value is secret. */
export function isSecretName(name: string): boolean {
  // The working directory.
  if (name === 'PWD') return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .replace(/[_.]/g, '-')
    .toLowerCase();
  return SECRET.test(words.replace(ORDINARY, ''));
}
