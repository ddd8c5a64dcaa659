import { Buffer } from 'node:buffer';
import type { Issue } from '../../errors.ts';
import { createFindingCollector, type PendingFinding, type ReportedFinding } from '../../fields/finding.ts';
import { createBodyInspector } from '../../fields/schema-validator.ts';
import {
  formatJsonPath,
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
import { createEnvelope, type TextPart } from './grammar.ts';
import {
  type InvalidTextError,
  locationInside,
  parseTextAt,
  type TextLocation,
  type TrajectoryEvent,
  type TrajectoryPart,
} from './reader.ts';

/** Checks of streamed trajectories: the same as for whole bodies, one trajectory at a time. */
export interface TrajectoryChecks {
  /** Checks an event of the text named `label`. Throws InvalidTextError if it is not valid JSON. */
  readonly checkEvent: (event: TrajectoryEvent, label: string) => void;
  /** The same for a trajectory; returns its value. */
  readonly checkTrajectory: (event: TrajectoryPart, label: string) => JsonNode;
  /** Records why the text of a body field could not be read to its end. */
  readonly addReadError: (error: InvalidTextError, label: string, field: string) => void;
  /** The texts of a body outside of its groups, so far. */
  readonly bodyParts: readonly TextPart[];
  readonly groupCount: () => number;
  /** The index of the current group; values that are not groups count, too. */
  readonly lastGroup: () => number;
  readonly trajectoryCount: () => number;
  readonly findings: () => ReportedFinding<Issue>[];
  /** Values that are not groups of trajectories: errors even with --no-check. */
  readonly structureErrors: () => ReportedFinding<Issue>[];
  readonly hint: () => string | undefined;
}

/** Starts the checks. With a grouping, trajectories must not be in groups. */
export function createTrajectoryChecks(grouping: Grouping | undefined): TrajectoryChecks {
  const inspectTrajectory = createBodyInspector(trajectoryShape);
  const inspectGroup = createBodyInspector(trajectoryGroupShape);
  const findings = createFindingCollector<Issue>();
  const structureErrors = createFindingCollector<Issue>();
  let groupCount = 0;
  let lastGroup = -1;
  let trajectoryCount = 0;
  let indexInGroup = 0;
  let ungroupedCount = 0;
  const bodyParts: TextPart[] = [];
  // The texts of the current group.
  let groupParts: TextPart[] | undefined;

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
  const validateTrajectory = (event: TrajectoryPart, label: string): JsonNode => {
    const { bytes, location, container, document } = event;
    const root = rootOf(document ?? parseTextAt(bytes, location));
    const assignment =
      container === 'in a group' ? { group: lastGroup, at: indexInGroup } : grouping?.assignGroup(root);
    if (container === 'in a group') indexInGroup += 1;
    if (container === 'alone') ungroupedCount += 1;
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
  const validateGroup = (label: string): void => {
    const { parse, locationAt } = createEnvelope(groupParts ?? []);
    addFindings(inspectGroup(rootOf(parse())), ['trajectory_groups', lastGroup], locationAt, label);
  };

  return {
    checkTrajectory: validateTrajectory,
    checkEvent: (event, label) => {
      switch (event.kind) {
        case 'group':
          if (grouping) addStructureError('is already a group; leave out --group-by', event.location, label);
          groupCount += 1;
          lastGroup += 1;
          indexInGroup = 0;
          groupParts = [];
          break;
        case 'trajectory':
          validateTrajectory(event, label);
          break;
        case 'text':
          (groupParts ?? bodyParts).push({ bytes: Buffer.from(event.bytes), location: event.location });
          break;
        case 'end':
          validateGroup(label);
          groupParts = undefined;
          break;
      }
    },
    addReadError: ({ message, location, syntaxProblem }, label, field) =>
      addStructureError(message, location, label, syntaxProblem === undefined ? '' : field),
    bodyParts,
    groupCount: () => grouping?.groupCount() ?? groupCount,
    lastGroup: () => lastGroup,
    trajectoryCount: () => trajectoryCount,
    findings: findings.findings,
    structureErrors: structureErrors.findings,
    hint: () =>
      ungroupedCount > 0 && !grouping
        ? 'if each line is a trajectory, group them: add --group-by metadata.task'
        : undefined,
  };
}

/** Groups single trajectories by the value at a path, in the order in which the values first appear. */
export interface Grouping {
  /** The index of the group and of the trajectory in it, from 0; or the reason why it has no group. */
  readonly assignGroup: (trajectory: JsonNode) => { readonly group: number; readonly at: number } | string;
  readonly lastGroup: () => number | undefined;
  readonly groupCount: () => number;
}

export function createGrouping(path: JsonPath): Grouping {
  const groups = new Map<string, { readonly group: number; count: number }>();
  let lastGroup: number | undefined;
  return {
    assignGroup: (trajectory) => {
      lastGroup = undefined;
      const value = nodeAtPath(trajectory, path);
      if (!value) return `has no ${formatJsonPath(path)} to group by`;
      const key = kindOf(value) === 'string' ? `"${stringOf(value)}` : rawText(value);
      const group = groups.get(key) ?? { group: groups.size, count: 0 };
      groups.set(key, group);
      lastGroup = group.group;
      group.count += 1;
      return { group: group.group, at: group.count - 1 };
    },
    lastGroup: () => lastGroup,
    groupCount: () => groups.size,
  };
}
