import { Buffer } from 'node:buffer';
import { type Failure, type Issue, usage } from '../errors.ts';
import type { FlagValues } from '../fields/flag.ts';
import type { Position } from '../json/position.ts';
import type { Operation } from '../operations/operation.ts';

/** What a body starts from: a whole body as JSON text, the prompt of a chat, both or neither. */
export interface Base {
  readonly whole?: Named;
  readonly prompt?: string;
}

/** Bytes and what to call them in messages. */
export interface Named {
  readonly label: string;
  readonly bytes: Uint8Array;
  /** Where an offset stands in the file, if the bytes are not all of it. */
  readonly position?: (offset: number) => Position;
  /** Why the file could not be read to its end. */
  readonly wrong?: Issue | undefined;
}

/** What a command line gives a body to start from. */
export interface Given {
  readonly operation: Operation;
  readonly args: readonly string[];
  readonly flags: FlagValues;
  readonly stdinIsTerminal: boolean;
}

/** Empty stdin counts as an object without members, and is checked like one. */
export function namedStdin(bytes: Uint8Array): Named {
  return { label: 'stdin', bytes: bytes.length === 0 ? Buffer.from('{}') : bytes };
}

/** The failure of a command line that says nothing to send. */
export function nothingToSend({ command, arguments: argument }: Operation): Failure {
  const line = `svc ${command.join(' ')}`;
  const first = argument ? `${line} <${argument.name}>, ` : '';
  return usage('there is nothing to send', `${first}${line} -f body.json, or ${line} --help`);
}
