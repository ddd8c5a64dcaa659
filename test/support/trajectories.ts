import { closeSync, openSync, writeSync } from 'node:fs';

/** A model to train. */
export const modelId = '0199f3c0-5f3a-7c21-9b6e-2f1d7a4c8e05';

/** A trajectory with about 85 bytes per token, as engines write them. */
export function trajectoryText(tokens: number, task = 'a'): string {
  const content = Array.from({ length: tokens }, (_, at) => ({
    token: `token_id:${at * 7}`,
    logprob: -0.125 * at,
    bytes: [120, 121],
    top_logprobs: [],
  }));
  const message = { role: 'assistant', content: 'It arrives "tomorrow"\n' };
  const choice = { finish_reason: 'stop', index: 0, message, logprobs: { content } };
  const question = { role: 'user', content: 'Where is it?' };
  return JSON.stringify({ messages_and_choices: [question, choice], reward: 0.5, metadata: { task } });
}

/** A whole body with one group, in pieces, of at least `bytes` bytes. */
export function* bodyPieces(bytes: number, tokens: number): Generator<string> {
  const one = `${trajectoryText(tokens)},`;
  const some = one.repeat(Math.ceil(500_000 / one.length));
  yield `{"model_id":"${modelId}","trajectory_groups":[{"trajectories":[`;
  for (let length = 0; length < bytes; length += some.length) yield some;
  yield '{}]}]}';
}

/** Writes pieces to a file. */
export function writePieces(path: string, pieces: Iterable<string>): void {
  const file = openSync(path, 'w');
  for (const piece of pieces) writeSync(file, piece);
  closeSync(file);
}
