import { REDACTED } from '../output/reporter.ts';

// The user and password of an address, with `//` or without. A scheme is not a user, `name:tag@sha256:` is an image, and
// the number after a `@` is a version if it is not an IP address.
const USER_INFO = /(:\/\/|(?<![^\s"'=:])\/\/)[^/?#\s]*@/g;
const BARE_USER_INFO =
  /(?<![\w.%+~/:@-])(?!(?:mailto|npm|pkg|acct|sips?|xmpp|jsr):)[\w.%+~-]{1,64}:[^\s/"']{1,256}@(?!sha\d+:)(?=[a-z_[]|\d+\.\d+\.\d+\.\d+)/gi;

const JSON_WEB_TOKEN = /(?<![\w-])eyJ[\w-]{5,}(?:\.[\w-]*){2,4}/g;
const PRIVATE_KEY = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{1,60}-----|$)/gs;

// Of AWS, GitHub, GitLab, Slack, OpenAI and others, Stripe, Google, Hugging Face, npm and PyPI; and of webhooks.
const PREFIXED_KEY =
  /(?<![\w-])(?:A[KS]IA[A-Z\d]{16}|gh[a-z]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[a-z]-[\w-]{10,}|sk-(?=[\w-]*\d)[\w-]{20,}|[rs]k_(?:live|test)_\w{10,}|AIza[\w-]{30,}|hf_[a-z\d]{20,}|npm_[a-z\d]{30,}|pypi-[\w-]{20,}|(?<=hooks\.slack\.com\/services\/)[\w/]{10,})/gi;

// The credential of a header with any name.
const AUTHORIZATION = /(?<![\w-])(Basic|Bearer)\s{1,9}(?=[\w.~+/-]*\d)[\w.~+/-]{16,}=*/gi;

/**
 * A text without secrets that show by their shape: passwords in addresses, JSON Web Tokens, private keys, API keys, and
 * what follows `Basic` or `Bearer`.
 */
export function redactSecretShapes(text: string): string {
  return text
    .replace(PRIVATE_KEY, REDACTED)
    .replace(JSON_WEB_TOKEN, REDACTED)
    .replace(PREFIXED_KEY, REDACTED)
    .replace(AUTHORIZATION, `$1 ${REDACTED}`)
    .replace(USER_INFO, `$1${REDACTED}@`)
    .replace(BARE_USER_INFO, `${REDACTED}@`);
}
