import { Buffer } from 'node:buffer';
import { open } from 'node:fs/promises';
import { fileFailure } from '../files/file-errors.ts';
import type { Middleware } from '../http/message.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import type { Runtime } from '../runtime.ts';
import { version } from '../version.ts';
import { sendWithCopies } from './body-copy.ts';
import { harEntry } from './har-entry.ts';
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
  const write = (entry: JsonValue): Promise<void> => {
    const text = redactText(writeJson(entry), secretForms);
    writing = writing
      .then(() => append(`${entries++ === 0 ? '\n' : ',\n'}${text}`))
      .catch((error) => {
        failure ??= error;
      });
    return writing;
  };
  await writing;
  return {
    record: (next) => async (request) => {
      if (!isRecorded(requestPath(request))) return next(request);
      const [startedAt, start] = [now(), elapsed()];
      return sendWithCopies(request, next, MAX_RECORDED_BODY_BYTES, (sent, response, received) =>
        write(harEntry({ startedAt, durationMs: elapsed() - start, request, sent, response, received })),
      );
    },
    close: async () => {
      await writing;
      await file.close();
      if (failure) throw fileFailure(`write ${path}`, failure);
    },
  };
}
