import { judgeOf } from '../fields/judge.ts';
import { collect } from '../http/collect.ts';
import type { Operation } from '../operations/operation.ts';
import { refusedBody } from './refusal.ts';
import { readBody } from './request-body.ts';
import { otherTurns } from './turns.ts';
import type { Behaviour, Intake } from './world.ts';

/** Takes the bodies of an operation whole, and judges them as the command line does, before the behaviour has them. */
export function wholeBodies(behaviour: Behaviour): (operation: Operation) => Intake {
  return (operation) => {
    const judge = judgeOf(operation.body);
    const drop = async (): Promise<void> => {};
    return async (pieces, length, caller, world) => {
      const body = readBody(await collect(pieces, operation.largestBody, length));
      if (!('doc' in body)) return { findings: [body], apply: () => refusedBody([body], operation), drop };
      await otherTurns(caller.signal);
      return { findings: judge(body), apply: () => behaviour(body, caller, world), drop };
    };
  };
}
