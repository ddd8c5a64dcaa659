import { Buffer } from 'node:buffer';
import type { Issue } from '../errors.ts';
import { parseJsonSequence } from '../json/document.ts';
import { bytesOf, itemsOf, type JsonNode, kindOf, member, rootsOf } from '../json/node.ts';
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
    else for (const group of groupsIn(source)) groups.push(group);
  }
  issues.push(...wrongGroups(groups));
  if (issues.length > 0) return { edits: [], issues };
  return { edits: [{ path, text: listOf(groups), origin: { label: files.join(' ') }, items: groups }], issues };
}

function* groupsIn(source: Source): Generator<Group> {
  for (const root of rootsOf(source.doc)) {
    for (const node of kindOf(root) === 'list' ? itemsOf(root) : [root]) yield { label: source.label, source, node };
  }
}

// A file of something else may have a million lines, and each of them is wrong.
const MOST_TOLD = 100;

function wrongGroups(groups: readonly Group[]): Issue[] {
  const wrong = groups.filter(({ node }) => !member(node, 'trajectories'));
  const more = wrong.length - MOST_TOLD;
  return wrong.slice(0, MOST_TOLD).map(({ source, node }, at) => {
    const what = member(node, 'trajectory_groups')
      ? 'is a whole body, not a group; give the file with -f'
      : 'must be a group: an object with trajectories';
    const message = more > 0 && at === MOST_TOLD - 1 ? `${what} (and ${more} more like this)` : what;
    return { path: '', at: placeInSource(source, node), message };
  });
}

// Bytes, because files of groups are larger than a string may be.
function listOf(groups: readonly Group[]): Uint8Array {
  const comma = Buffer.from(',');
  const pieces = groups.flatMap(({ node }, at) => (at === 0 ? [bytesOf(node)] : [comma, bytesOf(node)]));
  return Buffer.concat([Buffer.from('['), ...pieces, Buffer.from(']')]);
}
