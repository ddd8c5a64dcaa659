import { sortIssuesByLocation } from '../../body/body-check.ts';
import { observeChunks } from '../../http/body-chunks.ts';
import {
  formatJsonPath,
  getMember,
  type JsonNode,
  type JsonPath,
  kindOf,
  membersOf,
  nodeAtPath,
  rawText,
  stringOf,
} from '../../json/json-node.ts';
import { createTrajectoryChecks } from '../../train/stream/checks.ts';
import {
  createEnvelope,
  InvalidTextError,
  locationInside,
  readTrajectories,
  type TextForm,
  type TextLocation,
  type TrajectoryPart,
} from '../../train/stream/reader.ts';
import { checkAllowingNonFinite, createToolsHasher, lintTrajectory, truncateText } from './lint-trajectory.ts';
import {
  addTrajectory,
  countGroup,
  countTrajectory,
  createGroupStats,
  createLintSummary,
  type GroupStats,
} from './summary.ts';

/** The findings of some texts, and the problems that `svc train` reports: errors and warnings, in the order of the texts. */
export type LintResult = ReturnType<ReturnType<typeof createLinter>['finish']>;

/**
 * Checks trajectories as they stream by; with a path, they are grouped by the value there. It holds one at a time, and a few
 * statistics of each open group. `onBytes` gets the number of bytes read.
 */
export function createLinter(path: JsonPath | undefined, onBytes: (bytes: number) => void = () => {}) {
  const checks = createTrajectoryChecks(path);
  const summary = createLintSummary();
  const hashTools = createToolsHasher();
  const labels: string[] = [];
  // Of these, the texts that are invalid, so that what follows was not read.
  const cutLabels: string[] = [];
  // The groups that may still get trajectories: the current one, or all with `--group-by`.
  const openGroups = new Map<number, GroupStats>();
  const getOrOpenGroup = (index: number, label: string, location: TextLocation): GroupStats => {
    const open = openGroups.get(index);
    if (open) return open;
    const group = createGroupStats(index, label, location);
    openGroups.set(index, group);
    return group;
  };
  const closeGroups = (): void => {
    for (const group of openGroups.values()) countGroup(summary, group);
    openGroups.clear();
  };

  const lintEvent = (event: TrajectoryPart, label: string): void => {
    const { bytes, location, container } = event;
    const { root, nonFiniteOffsets, syntaxError } = checkAllowingNonFinite(event, label, checks);
    if (syntaxError) checks.addReadError(syntaxError, label, '');
    const index = container === 'in a group' ? checks.lastGroup() : checks.assignedGroup();
    if (index === undefined) return;
    const group = getOrOpenGroup(index, label, location);
    const place = ['trajectory_groups', index, 'trajectories', group.count];
    const facts = lintTrajectory(root, nonFiniteOffsets, (kind, offset, fieldPath, message) =>
      summary.findings.add(kind, () => ({
        at: { label, ...locationInside(bytes, location, offset) },
        path: formatJsonPath([...place, ...fieldPath]),
        message,
      })),
    );
    const task = group.count === 0 ? taskOf(root, path) : '';
    addTrajectory(group, facts.reward, hashTools(root), task);
    countTrajectory(summary, facts);
    summary.largest.add(bytes.length, () => ({ at: { label, ...location }, path: formatJsonPath(place) }));
  };

  const countBytes = (chunk: Uint8Array): void => {
    summary.bytes += chunk.length;
    onBytes(summary.bytes);
  };
  const read = async (label: string, chunks: AsyncIterable<Uint8Array>, form: TextForm): Promise<void> => {
    for await (const events of readTrajectories(observeChunks(chunks, countBytes), form)) {
      for (const event of events) {
        if (event.kind === 'trajectory') lintEvent(event, label);
        else checks.checkEvent(event, label);
        if (event.kind === 'group') getOrOpenGroup(checks.lastGroup(), label, event.location);
        if (event.kind === 'end' && !path) closeGroups();
      }
    }
    if (form === 'body') createEnvelope(checks.bodyParts).parse();
  };

  return {
    /** Reads all chunks of a text; `label` is its name in messages. */
    read: async (label: string, chunks: AsyncIterable<Uint8Array>, form: TextForm): Promise<void> => {
      labels.push(label);
      try {
        await read(label, chunks, form);
      } catch (error) {
        if (!(error instanceof InvalidTextError)) throw error;
        checks.addReadError(error, label, '');
        cutLabels.push(label);
        // The rest of an incomplete group is unknown.
        if (!path) openGroups.clear();
      }
    },
    /** The result, once all texts were read; `hint` says how to fix the structure errors, if svc knows. */
    finish: () => {
      closeGroups();
      summary.groups = checks.groupCount();
      const [firstLabel = ''] = labels;
      const structureErrors = checks.structureErrors();
      if (summary.groups === 0 && structureErrors.length === 0)
        summary.findings.add('no-groups', () => ({
          at: { label: firstLabel },
          path: 'trajectory_groups',
          message: 'contains no group',
        }));
      return {
        summary,
        problems: sortIssuesByLocation([...structureErrors, ...checks.findings()], labels),
        hint: checks.hint(),
        cutLabels,
      };
    },
  };
}

const TASK_KEY = /^(?:task|scenario|problem)(?:[_-]?(?:id|name))?$/i;

// The value that trajectories are grouped by, else the task that their metadata names.
function taskOf(trajectory: JsonNode, path: JsonPath | undefined): string {
  const metadata = getMember(trajectory, 'metadata');
  const named = path
    ? nodeAtPath(trajectory, path)
    : metadata && Array.from(membersOf(metadata)).find(({ key }) => TASK_KEY.test(key))?.value;
  if (!named || !['string', 'number'].includes(kindOf(named))) return '';
  return truncateText(kindOf(named) === 'string' ? stringOf(named) : rawText(named));
}
