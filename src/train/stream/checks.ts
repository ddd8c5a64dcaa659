import { Buffer } from 'node:buffer';
import type { Issue } from '../../errors.ts';
import { createFindingCollector, type PendingFinding } from '../../fields/finding.ts';
import { createBodyInspector } from '../../fields/schema-validator.ts';
import {
  formatJsonPath,
  getMember,
  itemsAt,
  type JsonNode,
  type JsonPath,
  kindOf,
  nodeAtPath,
  rawText,
  rootOf,
  stringOf,
} from '../../json/json-node.ts';
import { trajectoryGroupShape, trajectoryShape } from '../../operations/train.ts';
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
import { groupPaths, recordHint } from './record-forms.ts';

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
  // Of the first record that is no trajectory or has no group, and of the first one without messages.
  let hint: string | undefined;
  let messagesHint: string | undefined;
  let rewardCount = 0;
  let messagesCount = 0;
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
    { label, line }: { readonly label: string; readonly line: number },
  ): void => {
    for (const finding of findingsOfPart) {
      const { path: fieldPath, message } = finding.describe();
      const field = fieldPath.map((step) => (typeof step === 'number' ? 0 : step));
      // The lines of a finding are those of one file.
      const sameAs = `${label} ${finding.sameAs ?? `${formatJsonPath(field)} ${message}`}`;
      const describe = (): Issue => ({
        path: formatJsonPath([...path, ...fieldPath]),
        at: { label, ...locationAt(finding.offset) },
        message,
      });
      findings.add({ ...finding, sameAs }, describe, line);
    }
  };
  const addStructureError = (
    message: string,
    location: TextLocation,
    label: string,
    path = '',
    resembles?: Issue['resembles'],
  ): void => {
    const describe = (): Issue => ({ path, at: { label, ...location }, message, resembles });
    structureErrors.add({ level: 'error', code: 'invalid', sameAs: `${label} ${message}` }, describe, location.line);
  };
  const checkTrajectory = ({ bytes, location, container, document }: TrajectoryPart, label: string): JsonNode => {
    const root = rootOf(document ?? parseTextAt(bytes, location));
    const assignment =
      container === 'in a group' ? { group: lastGroup, at: indexInGroup } : groupBy && assignGroup(root, groupBy);
    if (container === 'in a group') indexInGroup += 1;
    if (!assignment) {
      hint ??= recordHint(root, label, container);
      lastGroup += 1;
      // A value on its own has no index in its file.
      const path = container === 'in a list' ? `trajectory_groups[${lastGroup}]` : '';
      addStructureError('must be a group: an object with trajectories', location, label, path);
    } else if (typeof assignment === 'string') {
      hint ??= getMember(root, 'messages_and_choices')
        ? pathsHint(groupPaths(root))
        : recordHint(root, label, container);
      addStructureError(assignment, location, label);
    } else {
      trajectoryCount += 1;
      const path = ['trajectory_groups', assignment.group, 'trajectories', assignment.at];
      countSignals(root, label, container);
      const { line } = location;
      addFindings(inspectTrajectory(root), path, (offset) => locationInside(bytes, location, offset), { label, line });
    }
    return root;
  };
  const countSignals = (root: JsonNode, label: string, container: TrajectoryPart['container']): void => {
    const reward = getMember(root, 'reward');
    if (reward && kindOf(reward) !== 'null') rewardCount += 1;
    const hasMessages = ['messages_and_choices', 'exchanges'].some((name) => itemsAt(root, name).length > 0);
    if (hasMessages) messagesCount += 1;
    else if (trajectoryCount === 1) messagesHint = recordHint(root, label, container);
  };
  const missingSignals = (): ReturnType<typeof findings.findings> => {
    const lacks = (what: string) => ({
      ...({ level: 'warning', code: 'unwise', path: 'trajectory_groups' } as const),
      message: `no trajectory has ${what}, so there is nothing to learn from`,
    });
    if (trajectoryCount === 0) return [];
    return [
      ...(messagesCount === 0 ? [lacks('messages in messages_and_choices')] : []),
      ...(rewardCount === 0 ? [lacks('a reward')] : []),
    ];
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
      const { line } = locationAt(0);
      addFindings(inspectGroup(rootOf(parse())), ['trajectory_groups', lastGroup], locationAt, { label, line });
      groupParts = undefined;
    }
  };

  return {
    /** Checks an event of the text named `label`. Throws InvalidTextError if it is not valid JSON. */
    checkEvent,
    checkTrajectory,
    /** Records why the text of a body field could not be read to its end. */
    addReadError: (error: InvalidTextError, label: string, field: string): void => {
      const { message, location, syntaxProblem, resembles } = error;
      if (/\.[ct]sv$/i.test(label))
        hint ??=
          'a table has no groups: convert its rows to JSON Lines, such as {"messages_and_choices":[...],"reward":1}';
      addStructureError(message, location, label, syntaxProblem === undefined ? '' : field, resembles);
    },
    bodyParts,
    groupCount: () => (groupBy ? assignedGroups.size : groupCount),
    /** The index of the current group; values that are not groups count, too. */
    lastGroup: () => lastGroup,
    /** The index of the group of the last single trajectory, if it has one. */
    assignedGroup: () => assignedGroup,
    trajectoryCount: () => trajectoryCount,
    /** What no trajectory has comes first: each of them lacks it, and nobody looks for it in a list. */
    findings: () => [...missingSignals(), ...findings.findings()],
    /** Values that are not groups of trajectories: errors even with --no-check. */
    structureErrors: structureErrors.findings,
    hint: () => hint ?? (messagesCount === 0 ? messagesHint : undefined),
  };
}

function pathsHint(paths: readonly string[]): string {
  if (paths.length === 0) return 'the first trajectory has no value to group by: add metadata.task to each';
  return `the first trajectory has ${paths.slice(0, 8).join(', ')}: add --group-by ${paths[0]}`;
}
