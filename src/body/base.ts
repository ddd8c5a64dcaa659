import { flagName } from '../fields/field.ts';
import { type FlagValues, textOf } from '../fields/flag.ts';
import type { Operation } from '../operations/operation.ts';
import { targetOf } from '../operations/target.ts';
import { readChatBase } from './chat-base.ts';
import { type Base, type Given, nothingToSend } from './given.ts';
import { stdinClaim } from './stdin-claims.ts';
import type { Tools } from './tools.ts';

/**
 * Reads what the body starts from (PRODUCT.md section 2): the file of `-f`; else stdin, when nothing else says what to
 * send and it is no terminal. A chat's piped text joins its prompt. Throws usage where there is nothing to send.
 */
export async function readBase(given: Given, tools: Tools): Promise<Base> {
  const { operation, args, flags } = given;
  const claim = stdinClaim(operation, args, flags);
  const file = textOf(flags, 'file');
  const whole = file === undefined ? {} : { whole: await tools.inputs.whole(file) };
  if (operation.arguments?.as === 'prompt') return { ...whole, ...(await readChatBase(given, claim, tools)) };
  if (file !== undefined || args.length > 0 || givesMembers(operation, flags)) return whole;
  if (given.stdinIsTerminal) throw nothingToSend(operation);
  return { whole: await tools.inputs.whole() };
}

/** True where flags say something of the body. */
export function givesMembers({ shorthands = {}, ...operation }: Operation, flags: FlagValues): boolean {
  const names = [...Object.keys(targetOf(operation).fields).map(flagName), ...Object.keys(shorthands), 'set'];
  return names.some((name) => flags.has(name));
}
