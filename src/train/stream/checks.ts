import { Buffer } from 'node:buffer';
import type { Issue } from '../../errors.ts';
import { createFindingCollector, type PendingFinding } from '../../fields/finding.ts';
import { createBodyInspector } from '../../fields/schema-validator.ts';
import {
  formatJsonPath,
  getMember,
  type JsonNode,
  type JsonPath,
  kindOf,
  nodeAtPath,
  rawText,
  rootOf,
  stringOf,
} from '../../json/json-node.ts';
import { formatPosition } from '../../json/utf8.ts';
import { trajectoryGroupShape, trajectoryShape } from '../../operations/train.ts';
import { shellWord } from '../../output/shell-quote.ts';
import {
  createEnvelope,
  type InvalidTextError,
  locationInside,
  parseTextAt,
  type TextLocation,
  type TextPart,
  type TrajectoryEvent,
  type TrajectoryPart,
} from './reader.ts';

export type TrajectoryChecks = ReturnType<typeof createTrajectoryChecks>;

/** The checks of whole bodies, one trajectory at a time. With a path, single trajectories are grouped by the value there. */
export function createTrajectoryChecks(groupBy: JsonPath | undefined) {
  const inspectTrajectory = createBodyInspector(trajectoryShape);
  const inspectGroup = createBodyInspector(trajectoryGroupShape);
  const findings = createFindingCollector<Issue>();
  const structureErrors = createFindingCollector<Issue>();
  let groupCount = 0;
  let lastGroup = -1;
  let trajectoryCount = 0;
  let indexInGroup = 0;
  let ungroupedCount = 0;
  let chatFile: string | undefined;
  const assignedGroups = new Map<string, { readonly group: number; count: number }>();
  let assignedGroup: number | undefined;
  const bodyParts: TextPart[] = [];
  let groupParts: TextPart[] | undefined;

  const assignGroup = (trajectory: JsonNode, path: JsonPath): { group: number; at: number } | string => {
    assignedGroup = undefined;
    const value = nodeAtPath(trajectory, path);
    if (!value) return `has no ${formatJsonPath(path)} to group by`;
    const key = kindOf(value) === 'string' ? `"${stringOf(value)}` : rawText(value);
    const assigned = assignedGroups.get(key) ?? { group: assignedGroups.size, count: 0 };
    assignedGroups.set(key, assigned);
    assignedGroup = assigned.group;
    return { group: assigned.group, at: assigned.count++ };
  };
  const addFindings = (
    findingsOfPart: readonly PendingFinding[],
    path: JsonPath,
    locationAt: (offset: number) => TextLocation,
    label: string,
  ): void => {
    for (const finding of findingsOfPart)
      findings.add(finding, () => {
        const { path: fieldPath, message } = finding.describe();
        const at = formatPosition(label, locationAt(finding.offset));
        return { path: formatJsonPath([...path, ...fieldPath]), at, message };
      });
  };
  const addStructureError = (message: string, location: TextLocation, label: string, path = ''): void => {
    const describe = (): Issue => ({ path, at: formatPosition(label, location), message });
    structureErrors.add({ level: 'error', code: 'invalid' }, describe);
  };
  const checkTrajectory = ({ bytes, location, container, document }: TrajectoryPart, label: string): JsonNode => {
    const root = rootOf(document ?? parseTextAt(bytes, location));
    const assignment =
      container === 'in a group' ? { group: lastGroup, at: indexInGroup } : groupBy && assignGroup(root, groupBy);
    if (container === 'in a group') indexInGroup += 1;
    if (container === 'alone') {
      ungroupedCount += 1;
      if (getMember(root, 'messages')) chatFile = label === 'stdin' ? '-' : label;
    }
    if (!assignment) {
      lastGroup += 1;
      // A value on its own has no index in its file.
      const path = container === 'in a list' ? `trajectory_groups[${lastGroup}]` : '';
      addStructureError('must be a group: an object with trajectories', location, label, path);
    } else if (typeof assignment === 'string') addStructureError(assignment, location, label);
    else {
      trajectoryCount += 1;
      const path = ['trajectory_groups', assignment.group, 'trajectories', assignment.at];
      addFindings(inspectTrajectory(root), path, (offset) => locationInside(bytes, location, offset), label);
    }
    return root;
  };
  const checkEvent = (event: TrajectoryEvent, label: string): void => {
    if (event.kind === 'trajectory') checkTrajectory(event, label);
    if (event.kind === 'text')
      (groupParts ?? bodyParts).push({ bytes: Buffer.from(event.bytes), location: event.location });
    if (event.kind === 'group') {
      if (groupBy) addStructureError('is already a group; leave out --group-by', event.location, label);
      groupCount += 1;
      lastGroup += 1;
      indexInGroup = 0;
      groupParts = [];
    }
    if (event.kind === 'end') {
      const { parse, locationAt } = createEnvelope(groupParts ?? []);
      addFindings(inspectGroup(rootOf(parse())), ['trajectory_groups', lastGroup], locationAt, label);
      groupParts = undefined;
    }
  };

  return {
    /** Checks an event of the text named `label`. Throws InvalidTextError if it is not valid JSON. */
    checkEvent,
    checkTrajectory,
    /** Records why the text of a body field could not be read to its end. */
    addReadError: ({ message, location, syntaxProblem }: InvalidTextError, label: string, field: string): void =>
      addStructureError(message, location, label, syntaxProblem === undefined ? '' : field),
    bodyParts,
    groupCount: () => (groupBy ? assignedGroups.size : groupCount),
    /** The index of the current group; values that are not groups count, too. */
    lastGroup: () => lastGroup,
    /** The index of the group of the last single trajectory, if it has one. */
    assignedGroup: () => assignedGroup,
    trajectoryCount: () => trajectoryCount,
    findings: findings.findings,
    /** Values that are not groups of trajectories: errors even with --no-check. */
    structureErrors: structureErrors.findings,
    hint: () => {
      if (chatFile) return `these look like chat bodies: svc chat --batch ${shellWord(chatFile)}`;
      return ungroupedCount > 0 && !groupBy
        ? 'if each line is a trajectory, group them: add --group-by metadata.task'
        : undefined;
    },
  };
}
