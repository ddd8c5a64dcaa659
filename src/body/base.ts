import { Buffer } from 'node:buffer';
import { type Failure, usage } from '../errors.ts';
import { flagName } from '../fields/field.ts';
import { type FlagValues, textOf } from '../fields/flag.ts';
import type { Operation } from '../operations/operation.ts';
import { targetOf } from '../operations/target.ts';
import { readChatBase } from './chat-base.ts';
import { stdinClaim } from './stdin-claims.ts';
import type { Tools } from './tools.ts';

/** What a body starts from: a whole body as JSON text, the prompt of a chat, both or neither. */
export interface Base {
  readonly whole?: Named;
  readonly prompt?: string;
}

/** Bytes and what to call them in messages. */
export interface Named {
  readonly label: string;
  readonly bytes: Uint8Array;
}

/** What a command line gives a body to start from. */
export interface Given {
  readonly operation: Operation;
  readonly args: readonly string[];
  readonly flags: FlagValues;
  readonly stdinIsTerminal: boolean;
}

/**
 * Reads what the body starts from (PRODUCT.md section 2): the file of `-f`; else stdin, when nothing else says what to
 * send and it is no terminal. A chat's piped text joins its prompt. Throws usage where there is nothing to send.
 */
export async function readBase(given: Given, tools: Tools): Promise<Base> {
  const { operation, args, flags } = given;
  const claim = stdinClaim(operation, args, flags);
  const file = textOf(flags, 'file');
  const whole =
    file === undefined ? {} : { whole: { label: file === '-' ? 'stdin' : file, bytes: await tools.inputs.read(file) } };
  if (operation.arguments?.as === 'prompt') return { ...whole, ...(await readChatBase(given, claim, tools)) };
  if (file !== undefined || args.length > 0 || bodyFlagNames(operation).some((name) => flags.has(name))) return whole;
  if (given.stdinIsTerminal) throw nothingToSend(operation);
  return { whole: namedStdin(await tools.inputs.unnamed()) };
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

function bodyFlagNames({ shorthands = {}, ...operation }: Operation): string[] {
  return [...Object.keys(targetOf(operation).fields).map(flagName), ...Object.keys(shorthands), 'set'];
}
