import { uuid7 } from '../../fields/uuid.ts';
import { bytesOf, itemsOf, type JsonNode, member, stringOf, textOf } from '../../json/node.ts';
import { jsonReply } from '../replies.ts';
import type { Behaviour } from '../world.ts';

/** Stores a training job and each of its trajectories, byte for byte as they came. */
export const createJob: Behaviour = (body, _caller, { store, now, randomBytes }) => {
  const id = uuid7(now(), randomBytes(10));
  const model = member(body, 'model_id');
  const config = member(body, 'experimental_config');
  store.transaction(() => {
    store.run(
      'insert into jobs (id, model_id, experimental_config, created_at) values (?, ?, ?, ?)',
      ...[id, model ? stringOf(model) : '', config ? textOf(config) : null, now()],
    );
    for (const [group, trajectories] of listIn(body, 'trajectory_groups')
      .map((one) => listIn(one, 'trajectories'))
      .entries()) {
      for (const [at, trajectory] of trajectories.entries()) {
        store.run('insert into trajectories values (?, ?, ?, ?)', id, group, at, bytesOf(trajectory));
      }
    }
  });
  return jsonReply(200, { id });
};

function listIn(node: JsonNode, name: string): JsonNode[] {
  const list = member(node, name);
  return list ? Array.from(itemsOf(list)) : [];
}
