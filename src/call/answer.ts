import { Buffer } from 'node:buffer';
import { Failure, type FailureFacts, Interrupted } from '../errors.ts';
import { collect, Unusable } from '../http/collect.ts';
import { header, type Reply } from '../http/message.ts';
import { requestId } from '../http/trace.ts';
import { type JsonDocument, parseJson } from '../json/document.ts';
import { JsonError } from '../json/json-error.ts';
import { kindOf, member, rootOf } from '../json/node.ts';
import { formatPath } from '../json/path.ts';
import type { Operation } from '../operations/operation.ts';
import { repeatAdvice } from './effect.ts';
import { failureOfError, reasonOf } from './failures.ts';
import type { Sent } from './sent.ts';

// The most bytes of an answer that are held.
const answerBytes = 32 * 1024 * 1024;

// The most values and keys in it: a text of small ones needs more memory for its index than for itself.
const answerValues = 1_500_000;

// The most whose types are looked at: checking takes many times the memory of the text.
const checkedValues = 200_000;

// The most of its text.
const checkedBytes = 8 * 1024 * 1024;

// The most characters of a path that are shown; a member may have any name.
const LONGEST_PATH = 200;

/** A complete answer: its bytes, and either the JSON they are or why they are no answer of the interface. */
export interface Answer {
  readonly bytes: Buffer;
  readonly doc: JsonDocument | undefined;
  readonly broken: Failure | undefined;
}

/** Reads the whole body of a 2xx answer. Throws the Failure it is when the body does not come completely. */
export async function readAnswer(reply: Reply, sent: Sent): Promise<Answer> {
  const bytes = await wholeBody(reply, sent);
  const doc = parse(bytes);
  if (doc instanceof JsonError) {
    const broken = brokenAnswer(`the answer is not JSON that can be read: ${doc.message}`, reply, sent);
    return { bytes, doc: undefined, broken };
  }
  const { member: name } = sent.operation.result;
  const isObject = kindOf(rootOf(doc)) === 'object';
  if (isObject && member(rootOf(doc), name)) return { bytes, doc, broken: undefined };
  const why = isObject ? `has no "${name}"` : 'is not an object';
  return { bytes, doc, broken: brokenAnswer(`the answer ${why}`, reply, sent) };
}

/** What is unexpected in a reply although it is one; nothing of it is an error. A very large reply is taken as it is. */
export async function unexpectedIn(doc: JsonDocument, { reply }: Operation): Promise<string[]> {
  if (doc.tape.length / 3 > checkedValues || doc.bytes.length > checkedBytes) return [];
  const { validator } = await import('../fields/validator.ts');
  const findings = validator(reply, { lenient: true })(rootOf(doc));
  return findings.map(({ path, message }) => `the reply is unexpected: ${briefly(formatPath(path))} ${message}`);
}

function briefly(path: string): string {
  return path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path;
}

/** The failure of an answer that broke the interface: the request was applied all the same. */
export function brokenAnswer(message: string, reply: Reply, sent: Sent, isCut = false): Failure {
  return new Failure('answer', message, { ...factsOfSuccess(reply, sent), isCut });
}

/**
 * The failure of an answer that cannot be read to its end. `cut` says what it means once something of it has come; before
 * that the outcome is as unknown as without a status.
 */
export function failureOfBody(error: unknown, reply: Reply, sent: Sent, cut: string | undefined): Failure {
  if (error instanceof Unusable) return brokenAnswer(error.message, reply, sent);
  if (error instanceof Failure || cut === undefined) return failureOfError(error, sent);
  if (error instanceof Interrupted) {
    const facts = { ...factsOfSuccess(reply, sent), hint: repeatAdvice(sent.effect) };
    return new Failure(error.code, `${error.message}; the answer had begun`, facts);
  }
  return brokenAnswer(`${cut}: ${reasonOf(error)}`, reply, sent, true);
}

/** What is known of a request once a 2xx status has come: it was applied, whatever happens to its answer. */
export function factsOfSuccess({ status, headers }: Reply, { ids, progress }: Sent): FailureFacts {
  const { phase, sent: bytesSent, attempts } = progress;
  return { status, requestId: requestId(headers), applied: 'yes', phase, bytesSent, attempts, ids };
}

async function wholeBody(reply: Reply, sent: Sent): Promise<Buffer> {
  const { whole } = reply;
  if (whole && whole.length <= answerBytes) return Buffer.from(whole.buffer, whole.byteOffset, whole.length);
  let received = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of reply.body) {
      received += piece.length;
      yield piece;
    }
  };
  try {
    return await collect(counted(), answerBytes, Number(header(reply.headers, 'content-length') ?? 0) || 0);
  } catch (error) {
    throw failureOfBody(error, reply, sent, received === 0 ? undefined : `the answer was cut after ${received} bytes`);
  }
}

function parse(bytes: Buffer): JsonDocument | JsonError {
  try {
    return parseJson(bytes, answerValues);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
}
