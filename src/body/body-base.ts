import { flagName } from '../fields/field.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import { flagTarget } from '../operations/flag-target.ts';
import type { Operation } from '../operations/operation.ts';
import type { BodyDependencies } from './body-dependencies.ts';
import { readChatBase } from './chat/chat-base.ts';
import { type BodyBase, type CommandInput, nothingToSendFailure } from './command-input.ts';
import { stdinClaim } from './stdin-claim.ts';

/**
 * Reads what the body starts from (PRODUCT.md section 2): the file of `-f`; else stdin, when nothing else says what to
 * send and it is no terminal. A chat's piped text joins its prompt. Throws usage where there is nothing to send.
 */
export async function readBodyBase(input: CommandInput, dependencies: BodyDependencies): Promise<BodyBase> {
  const { operation, args, flags } = input;
  const claim = stdinClaim(operation, args, flags);
  const file = getStringFlag(flags, 'file');
  const whole = file === undefined ? {} : { whole: await dependencies.inputs.whole(file) };
  if (operation.arguments?.as === 'prompt') return { ...whole, ...(await readChatBase(input, claim, dependencies)) };
  if (file !== undefined || args.length > 0 || hasBodyFlags(operation, flags)) return whole;
  if (input.stdinIsTerminal) throw nothingToSendFailure(operation);
  return { whole: await dependencies.inputs.whole() };
}

/** True where flags say something of the body. */
export function hasBodyFlags({ shorthands = {}, ...operation }: Operation, flags: FlagValues): boolean {
  const names = [...Object.keys(flagTarget(operation).fields).map(flagName), ...Object.keys(shorthands), 'set'];
  return names.some((name) => flags.has(name));
}
