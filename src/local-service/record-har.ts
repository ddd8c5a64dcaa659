import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import type { Failure } from '../errors.ts';
import { fileFailure, withFileFailure } from '../files/file-errors.ts';
import type { Middleware } from '../http/message.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { bodySecretForms, replaceSecrets } from '../output/reporter.ts';
import type { Runtime } from '../runtime.ts';
import { version } from '../version.ts';
import { sendWithCopies } from './body-copy.ts';
import { harEntry } from './har-entry.ts';
import { requestPath } from './responses.ts';

/** Records exchanges to a file; `close` throws Failure `local_file` if something could not be written. */
export interface HarRecorder {
  readonly record: Middleware;
  readonly close: () => Promise<void>;
}

/** A longer body is recorded up to here. */
export const MAX_RECORDED_BODY_BYTES = 16 * 1024 * 1024;
const FILE_END = '\n]}}\n';

/**
 * Records every exchange that passes through as an entry of a new HAR 1.2 file (0600), which is complete after each one.
 * An exchange that cannot be written is left out; the first one is a warning at once. Throws Failure `local_file` if the file exists or cannot be created.
 */
export async function openHarRecorder(
  path: string,
  isRecorded: (path: string) => boolean,
  secrets: readonly (string | undefined)[],
  { now, elapsed }: Pick<Runtime, 'now' | 'elapsed'>,
  warn: (message: string) => Promise<void>,
): Promise<HarRecorder> {
  const file = await open(path, 'wx', 0o600).catch((error) => {
    throw fileFailure(`create ${path}`, error, { hint: 'choose another file for --record' });
  });
  const secretForms = bodySecretForms(secrets);
  const head = writeJson({ version: '1.2', creator: { name: 'svc', version }, pages: [] }).slice(0, -1);
  let end = 0;
  let entries = 0;
  let failure: Failure | undefined;
  const append = async (text: string): Promise<void> => {
    try {
      await writeAt(file, `${text}${FILE_END}`, end);
    } catch (error) {
      // The end of the last entry was overwritten; its bytes are allocated, also on a full disk.
      await file.truncate(end + FILE_END.length);
      await writeAt(file, FILE_END, end);
      throw error;
    }
    end += Buffer.byteLength(text);
  };
  let writing = withFileFailure(`write ${path}`, () => append(`{"log":${head},"entries":[`));
  const write = (entry: JsonValue): Promise<void> => {
    const text = replaceSecrets(writeJson(entry), secretForms);
    writing = writing
      .then(() => append(`${entries === 0 ? '\n' : ',\n'}${text}`))
      .then(() => {
        entries += 1;
      })
      .catch(async (error) => {
        if (failure) return;
        failure = fileFailure(`write ${path}`, error);
        await warn(`${failure.message}; the recording is incomplete`);
      });
    return writing;
  };
  await writing;
  return {
    record: (next) => async (request) => {
      if (!isRecorded(requestPath(request))) return next(request);
      const [startedAt, start] = [now(), elapsed()];
      return sendWithCopies(request, next, MAX_RECORDED_BODY_BYTES, (sent, response, received, isCut) =>
        write(harEntry({ startedAt, durationMs: elapsed() - start, request, sent, response, received, isCut })),
      );
    },
    close: async () => {
      await writing;
      await file.close();
      if (failure) throw failure;
    },
  };
}

// All of a text, or an error: a file on a full disk may take a part of it.
async function writeAt(file: FileHandle, text: string, position: number): Promise<void> {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; )
    written += (await file.write(bytes, written, bytes.length - written, position + written)).bytesWritten;
}
