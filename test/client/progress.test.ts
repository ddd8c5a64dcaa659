import { expect, it } from 'vitest';
import { createDraft } from '../../src/body/draft.ts';
import { createRequestContext, prepareRequest } from '../../src/client/request.ts';
import { sendOnce } from '../../src/client/send.ts';
import type { HttpRequest } from '../../src/http/message.ts';
import { feedbackSchemaOperation } from '../../src/operations/feedback-schema.ts';
import { clock } from '../support/clock.ts';

it('the wait for a response shows its duration after 5 s', async () => {
  const url = new URL('http://127.0.0.1:1/feedback/payload_schema');
  const destination = {
    url,
    isLocal: false,
    profile: 'default',
    isInProfile: false,
    source: '--base-url',
    login: '',
  };
  const send = async (): Promise<never> => {
    throw new Error('not sent');
  };
  const prepared = prepareRequest({ operation: feedbackSchemaOperation, headers: [] }, createDraft('{}'));
  const context = createRequestContext(prepared, {
    destination,
    authorization: undefined,
    transport: { send, close: async () => {} },
    timeoutMs: undefined,
    maxRetries: 0,
    overloadStatuses: [],
  });
  const request: HttpRequest = {
    method: 'POST',
    url: url.href,
    headers: [],
    body: Buffer.from('{}'),
    signal: new AbortController().signal,
  };
  let elapsedMs = 1000;
  const texts: string[] = [];
  const onAttempt = (describeProgress: () => string): (() => void) => {
    for (elapsedMs of [1000, 5999, 6000, 95_000, 600_000]) texts.push(describeProgress());
    return () => {};
  };
  const runtime = { now: Date.now, elapsed: () => elapsedMs, after: clock().after };
  await expect(sendOnce(send, request, context, { onAttempt }, runtime)).rejects.toThrow();
  expect(texts).toEqual([
    'waiting for the response',
    'waiting for the response',
    'waiting for the response, 5 s',
    'waiting for the response, 2 min',
    'waiting for the response, 10 min',
  ]);
});
