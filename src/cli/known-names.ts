import { readRequestHistory, requestHistoryFile } from '../client/request-history.ts';
import { LOCAL_PROFILE_NAME, type Profile, readProfiles } from '../config/profile-store.ts';
import { readProjectFile } from '../config/project-file.ts';
import { environmentSetting } from '../config/settings.ts';
import type { KnownNameKind } from '../flag.ts';
import { firstStringMember, getMember, type JsonNode } from '../json/json-node.ts';
import type { Runtime } from '../runtime.ts';

// Shells expand the words that they complete: a name from a project file must not be able to run a command.
const SAFE_NAME = /^[\w.,:/@%+-]+$/;

/** The names in the environment, the project file, the profiles and the history, in this order. What cannot be read names nothing. */
export async function knownNames(kind: KnownNameKind, runtime: Runtime): Promise<string[]> {
  const warn = async (): Promise<void> => {};
  const store = await readProfiles({ runtime, report: { warn, note: warn } }).catch(() => ({ profiles: {} }));
  if (kind === 'profiles') return safeNames([...Object.keys(store.profiles).sort(), LOCAL_PROFILE_NAME]);
  const name = kind === 'models' ? 'model' : 'project_id';
  const project = await readProjectFile(runtime, warn).catch(() => undefined);
  const profiles: readonly Profile[] = Object.values(store.profiles);
  const history = await readRequestHistory(requestHistoryFile(runtime)).catch((): JsonNode[] => []);
  const requests = history.reverse().map((record) => getMember(record, 'request'));
  return safeNames([
    environmentSetting(name, runtime.env),
    project?.values.get(name),
    ...profiles.map((profile) => profile[name]),
    ...requests.map(
      (request) => firstStringMember(request, name) ?? firstStringMember(request && getMember(request, 'start'), name),
    ),
  ]);
}

function safeNames(names: readonly (string | undefined)[]): string[] {
  return [...new Set(names.flatMap((name) => (name && SAFE_NAME.test(name) ? name : [])))];
}
