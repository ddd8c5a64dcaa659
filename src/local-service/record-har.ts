import { Buffer } from 'node:buffer';
import { open } from 'node:fs/promises';
import { fileFailure } from '../files/file-errors.ts';
import type { Middleware, Response } from '../http/message.ts';
import { bodyChunks } from '../http/request-progress.ts';
import { writeJson } from '../json/write-json.ts';
import type { Runtime } from '../runtime.ts';
import { version } from '../version.ts';
import { createBodyCopy, tapChunks } from './body-copy.ts';
import { harEntry } from './har-entry.ts';
import { redactBody } from './redact-body.ts';
import { bodySecretForms, redactText } from './redact-chunks.ts';
import { requestPath } from './request-path.ts';

/** Records exchanges to a file; `close` throws Failure `local` where something could not be written. */
export interface HarRecorder {
  readonly record: Middleware;
  readonly close: () => Promise<void>;
}

/** A longer body is recorded up to here. */
export const MAX_RECORDED_BODY_BYTES = 16 * 1024 * 1024;
const FILE_END = '\n]}}\n';

/**
 * Records every exchange that passes through as an entry of a new HAR 1.2 file (0600), which is complete after each one.
 * Throws Failure `local` where the file exists or cannot be created.
 */
export async function openHarRecorder(
  path: string,
  isRecorded: (path: string) => boolean,
  secrets: readonly (string | undefined)[],
  { now, elapsed }: Pick<Runtime, 'now' | 'elapsed'>,
): Promise<HarRecorder> {
  const file = await open(path, 'wx', 0o600).catch((error) => {
    throw fileFailure(`create ${path}`, error, { hint: 'choose another file for --record' });
  });
  const secretForms = bodySecretForms(secrets);
  const head = writeJson({ version: '1.2', creator: { name: 'svc', version }, pages: [] }).slice(0, -1);
  let end = 0;
  let entries = 0;
  let failure: unknown;
  const append = async (text: string): Promise<void> => {
    await file.write(`${text}${FILE_END}`, end);
    end += Buffer.byteLength(text);
  };
  let writing = append(`{"log":${head},"entries":[`);
  const write = (text: string): Promise<void> => {
    writing = writing
      .then(() => append(`${entries++ === 0 ? '\n' : ',\n'}${redactText(text, secretForms)}`))
      .catch((error) => {
        failure ??= error;
      });
    return writing;
  };
  await writing;
  return {
    record: (next) => async (request) => {
      const pathname = requestPath(request);
      if (!isRecorded(pathname)) return next(request);
      const [startedAt, start] = [now(), elapsed()];
      const sent = createBodyCopy(MAX_RECORDED_BODY_BYTES);
      const end = (response: Pick<Response, 'status' | 'headers'>, body: Buffer): Promise<void> =>
        write(
          writeJson(
            harEntry({
              ...{ startedAt, durationMs: elapsed() - start, method: request.method, path: pathname },
              ...{ requestHeaders: request.headers, requestBody: redactBody(pathname, sent.bytes()) },
              ...{ status: response.status, responseHeaders: response.headers, responseBody: body },
            }),
          ),
        );
      try {
        const { body } = request;
        const copied = { length: body.length, chunks: () => tapChunks(bodyChunks(body), sent.add) };
        const { completeBody: _, ...response } = await next({ ...request, body: copied });
        const received = createBodyCopy(MAX_RECORDED_BODY_BYTES);
        return { ...response, body: tapChunks(response.body, received.add, () => end(response, received.bytes())) };
      } catch (error) {
        await end({ status: 0, headers: [] }, Buffer.alloc(0));
        throw error;
      }
    },
    close: async () => {
      await writing;
      await file.close();
      if (failure) throw fileFailure(`write ${path}`, failure);
    },
  };
}
