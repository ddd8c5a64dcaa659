import type { Issue } from '../errors.ts';
import { parseJsonSequence } from '../json/document.ts';
import { itemsOf, type JsonNode, kindOf, member, rootsOf, textOf } from '../json/node.ts';
import { formatPath, type Path } from '../json/path.ts';
import type { Collected } from './collected.ts';
import { isIssue, placeInSource, readSource, type Source } from './source.ts';
import type { Tools } from './tools.ts';

/** A group of trajectories where it stands in its file. */
interface Group {
  readonly label: string;
  readonly source: Source;
  readonly node: JsonNode;
}

/**
 * One list of all trajectory groups in some files, each a JSON list of groups or a sequence of them (JSONL); `-` is
 * stdin. The text of every group stays as it is.
 */
export async function groupsEdit(
  path: Path,
  files: readonly string[],
  { inputs }: Pick<Tools, 'inputs'>,
): Promise<Collected> {
  const groups: Group[] = [];
  const issues: Issue[] = [];
  for (const file of files) {
    const label = file === '-' ? 'stdin' : file;
    const source = readSource(label, await inputs.read(file), parseJsonSequence);
    if (isIssue(source)) issues.push({ ...source, path: formatPath(path) });
    else groups.push(...groupsIn(source));
  }
  issues.push(...groups.flatMap(wrongGroup));
  if (issues.length > 0) return { edits: [], issues };
  const text = `[${groups.map(({ node }) => textOf(node)).join(',')}]`;
  return { edits: [{ path, text, origin: { label: files.join(' ') }, items: groups }], issues };
}

function groupsIn(source: Source): Group[] {
  return Array.from(rootsOf(source.doc)).flatMap((root) => {
    const nodes = kindOf(root) === 'list' ? Array.from(itemsOf(root)) : [root];
    return nodes.map((node) => ({ label: source.label, source, node }));
  });
}

function wrongGroup({ source, node }: Group): Issue[] {
  if (member(node, 'trajectories')) return [];
  const message = member(node, 'trajectory_groups')
    ? 'is a whole body, not a group; give the file with -f'
    : 'must be a group: an object with trajectories';
  return [{ path: '', at: placeInSource(source, node), message }];
}
