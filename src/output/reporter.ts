import type { Failure } from '../errors.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { createForeignTextMarker, markFurtherLines } from './escape-controls.ts';
import { failureJson, failureText } from './failure-text.ts';
import { createRedactor } from './redaction.ts';
import type { TextStyle } from './text-style.ts';
import type { Writer } from './writer.ts';

export type Reporter = ReturnType<typeof createReporter>;

/** Prints everything besides the result: lines on stderr, for people or (`--error-format json`) for programs. */
export function createReporter(
  stderr: Writer,
  { isJson, isQuiet, isVerbose, secrets }: Record<'isJson' | 'isQuiet' | 'isVerbose', boolean> & { secrets: string[] },
) {
  const redactor = createRedactor(secrets);
  const { redact } = redactor;
  let lastReasoning = '';
  let marker = createForeignTextMarker();
  const writeMessage = (level: string, message: string, style?: TextStyle): Promise<void> => {
    const text = redact(message);
    return stderr.write(`${isJson ? writeJson({ level, message: text }) : markFurtherLines(text)}\n`, style);
  };
  return {
    ...redactor,
    isVerbose: isVerbose && !isQuiet,
    isQuiet,
    note: async (message: string, isUrgent = false): Promise<void> => {
      if (!isQuiet || isUrgent) await writeMessage('note', isJson ? message : `svc: ${message}`, 'dim');
    },
    warn: async (message: string, isUrgent = false): Promise<void> => {
      if (!isQuiet || isUrgent) await writeMessage('warning', isJson ? message : `svc: warning: ${message}`, 'yellow');
    },
    /** A detail of the failure that is reported last, such as an invalid line, or an annotation; also under `--quiet`. */
    error: (text: string): Promise<void> => writeMessage('error', text),
    line: async (text: string): Promise<void> => {
      if (!isQuiet) await writeMessage('line', text);
    },
    /** Figures that a flag requested: a line of text, or of JSON with these fields; also under `--quiet`. */
    stats: (text: string, fields: { readonly [name: string]: JsonValue }): Promise<void> =>
      stderr.write(isJson ? `${writeJson({ level: 'stats', ...fields })}\n` : `${text}\n`, 'dim'),
    detail: async (message: string): Promise<void> => {
      if (isVerbose && !isQuiet) await writeMessage('detail', message, 'dim');
    },
    failure: (failure: Failure): Promise<void> =>
      isJson
        ? stderr.write(`${failureJson(failure, redact)}\n`)
        : stderr.write(failureText(failure, redact, isVerbose), 'red'),
    /** A chunk of the reasoning of a model: dimmed, or below a label without color; silent under `--quiet` and as JSON. */
    reasoning: async (text: string): Promise<void> => {
      if (text === '' || isQuiet || isJson) return;
      if (lastReasoning === '' && !stderr.hasColor) await stderr.write('reasoning:\n');
      await stderr.write(marker.push(redact(text)), 'dim');
      lastReasoning = text;
    },
    endReasoning: async (): Promise<void> => {
      if (lastReasoning === '') return;
      const lineBreak = lastReasoning.endsWith('\n') ? '' : '\n';
      lastReasoning = '';
      await stderr.write(marker.flush(), 'dim');
      marker = createForeignTextMarker();
      await stderr.write(stderr.hasColor ? lineBreak : `${lineBreak}\n`);
    },
  };
}
