import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { bodyChunks } from '../../src/http/body-chunks.ts';
import type { HttpRequest, Send } from '../../src/http/message.ts';
import { type LocalServiceOptions, openLocalService } from '../../src/local-service/open-local-service.ts';
import { temporaryDirectory } from './svc.ts';

/** The environment of a program in this process whose service responds to the first attempt of a request, or does not. */
export const serviceEnv = {
  SVC_BASE_URL: 'https://svc.test',
  SVC_TOKEN: 'tok-en-1',
  SVC_USERNAME: 'api',
  SVC_PASSWORD: 'pass-word-1',
  SVC_RETRIES: '0',
};

/** A request as a service received it, its body as text. */
export interface Recorded {
  readonly url: string;
  readonly headers: HttpRequest['headers'];
  readonly body: string;
}

/** The local service on a database of its own, ended with the test; `recorded` receives its requests. */
export async function localService(
  options: Partial<LocalServiceOptions> & { now?: () => number } = {},
): Promise<{ send: Send; recorded: Recorded[] }> {
  const { now = Date.now, ...rest } = options;
  const service = await openLocalService(
    { databaseFile: join(temporaryDirectory(), 'svc.db'), ...rest },
    { now, randomBytes },
  );
  onTestFinished(() => service.close());
  return recording(service.send);
}

/** A Send that records its requests. */
export function recording(send: Send): { send: Send; recorded: Recorded[] } {
  const recorded: Recorded[] = [];
  return {
    recorded,
    send: async (request) => {
      request.onBodySent?.();
      const pieces: Uint8Array[] = [];
      for await (const piece of bodyChunks(request.body)) pieces.push(piece);
      const body = Buffer.concat(pieces);
      recorded.push({ url: request.url, headers: request.headers, body: body.toString() });
      return send({ ...request, body });
    },
  };
}

/** A Send that responds to every request with the same JSON. */
export function answering(
  body: string,
  status = 200,
  contentType = 'application/json',
): { send: Send; recorded: Recorded[] } {
  return recording(async () => ({
    status,
    statusText: '',
    headers: [['Content-Type', contentType]],
    body: (async function* () {
      yield Buffer.from(body);
    })(),
  }));
}
