import { Buffer } from 'node:buffer';
import { type Failure, type Issue, usageFailure } from '../errors.ts';
import type { FlagValues } from '../flag.ts';
import type { TextPosition } from '../json/text-position.ts';
import type { Operation } from '../operations/operation.ts';

/** What a body starts from: a whole body as JSON text, the prompt of a chat, both or neither. */
export interface BodyBase {
  readonly whole?: LabeledBytes;
  readonly prompt?: string;
}

/** Bytes and what to call them in messages. */
export interface LabeledBytes {
  readonly label: string;
  readonly bytes: Uint8Array;
  /** Where an offset stands in the file, if the bytes are not all of it. */
  readonly position?: (offset: number) => TextPosition;
  /** Why the file could not be read to its end. */
  readonly issue?: Issue | undefined;
}

/** What a command line gives a body to start from. */
export interface CommandInput {
  readonly operation: Operation;
  readonly args: readonly string[];
  readonly flags: FlagValues;
  readonly stdinIsTerminal: boolean;
}

/** Empty stdin counts as an object without members, and is checked like one. */
export function labeledStdin(bytes: Uint8Array): LabeledBytes {
  return { label: 'stdin', bytes: bytes.length === 0 ? Buffer.from('{}') : bytes };
}

/** The failure of a command line that says nothing to send. */
export function nothingToSendFailure({ command, arguments: argument }: Operation): Failure {
  const line = `svc ${command.join(' ')}`;
  const first = argument ? `${line} <${argument.name}>, ` : '';
  return usageFailure('there is nothing to send', `${first}${line} -f body.json, or ${line} --help`);
}
