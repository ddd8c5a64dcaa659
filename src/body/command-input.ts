import { Buffer } from 'node:buffer';
import { type Failure, type Issue, usageFailure } from '../errors.ts';
import type { FlagValues } from '../flag.ts';
import type { TextPosition } from '../json/utf8.ts';
import type { Operation } from '../operations/operation.ts';

/** The base of a body: a whole body as JSON text, the prompt of a chat, both or neither. */
export interface BodyBase {
  readonly whole?: LabeledBytes;
  readonly prompt?: string | undefined;
  readonly stdinUse?: StdinUse | undefined;
}

/** The reason why stdin provided no body: it was empty, or not read because flags were given. */
export type StdinUse = 'empty' | 'unread';

/** Bytes and what to call them in messages. */
export interface LabeledBytes {
  readonly label: string;
  readonly bytes: Uint8Array;
  /** True for a stdin without a byte, whose bytes are an object without fields. */
  readonly isEmptyStdin?: boolean;
  /** The position of an offset in the file, if the bytes are a part of it. */
  readonly position?: (offset: number) => TextPosition;
  /** The reason why the file could not be read to its end. */
  readonly issue?: Issue | undefined;
}

/** The parts of a command line that a body is built from. */
export interface CommandInput {
  readonly operation: Operation;
  readonly args: readonly string[];
  readonly flags: FlagValues;
  readonly isStdinTerminal: boolean;
}

/** Empty stdin counts as an object without fields, and is checked like one. */
export function labeledStdin(bytes: Uint8Array): LabeledBytes {
  return bytes.length === 0
    ? { label: 'stdin', bytes: Buffer.from('{}'), isEmptyStdin: true }
    : { label: 'stdin', bytes };
}

/** The failure of a command line without a body. */
export function nothingToSendFailure({ command, arguments: argument }: Operation): Failure {
  const line = `svc ${command.join(' ')}`;
  const first = argument ? `${line} <${argument.name}>, ` : '';
  return usageFailure('no body was given', `${first}${line} -f body.json, or ${line} --help`);
}
