import { flagName } from '../fields/field.ts';
import { type FlagValues, getStringFlag } from '../flag.ts';
import { flagTarget } from '../operations/flag-target.ts';
import type { Operation } from '../operations/operation.ts';
import type { BodyDependencies } from './body-dependencies.ts';
import { readChatBase } from './chat/chat-base.ts';
import { type BodyBase, type CommandInput, type LabeledBytes, nothingToSendFailure } from './command-input.ts';
import { stdinClaim } from './stdin-claim.ts';

/**
 * Reads what the body starts from (docs/contract.md): the file of `-f`; else stdin, when no flag gives a part of the body
 * and it is not a terminal. Text piped into a chat joins its prompt. Throws usage where nothing gives a body.
 */
export async function readBodyBase(input: CommandInput, dependencies: BodyDependencies): Promise<BodyBase> {
  const { operation, args, flags } = input;
  const claim = stdinClaim(operation, args, flags);
  const file = getStringFlag(flags, 'file');
  const base = file === undefined ? {} : baseOfWhole(await dependencies.inputs.whole(file));
  if (operation.arguments?.as === 'prompt') return { ...base, ...(await readChatBase(input, claim, dependencies)) };
  if (file !== undefined || args.length > 0) return base;
  if (hasBodyFlags(operation, flags)) {
    const isUnread = claim === undefined && !input.stdinIsTerminal && (await dependencies.inputs.hasUnreadStdin());
    return isUnread ? { stdinUse: 'unread' } : base;
  }
  if (input.stdinIsTerminal) throw nothingToSendFailure(operation);
  return baseOfWhole(await dependencies.inputs.whole());
}

function baseOfWhole(whole: LabeledBytes): BodyBase {
  return { whole, stdinUse: whole.isEmptyStdin ? 'empty' : undefined };
}

/** True where flags give a part of the body. */
export function hasBodyFlags({ shorthands = {}, ...operation }: Operation, flags: FlagValues): boolean {
  const names = [...Object.keys(flagTarget(operation).fields).map(flagName), ...Object.keys(shorthands), 'set'];
  return names.some((name) => flags.has(name));
}
