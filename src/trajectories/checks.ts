import type { Issue } from '../errors.ts';
import type { Fields } from '../fields/field.ts';
import { type Kept, newTally, type Remark } from '../fields/finding.ts';
import { type JsonNode, rootOf } from '../json/node.ts';
import { formatPath, type Path } from '../json/path.ts';
import { trajectory as trajectoryFields, trajectoryGroup } from '../operations/trajectory.ts';
import type { Grouping } from './grouping.ts';
import type { Passing } from './passing.ts';
import { type Place, placeInside } from './place.ts';
import { documentOf, type Part, partOf, type Shell, shellOf } from './shell.ts';
import { documentAt, type UnreadableText } from './unreadable-text.ts';

/** The judge of trajectories on their way: the same as of whole bodies, for each by itself. */
export interface Checks {
  /** Judges what passes of a text of that name. Throws UnreadableText where it is not JSON. */
  readonly see: (passing: Passing, label: string) => void;
  /** The same for a trajectory, and the value that it is. */
  readonly seeTrajectory: (passing: Passing & { kind: 'trajectory' }, label: string) => JsonNode;
  /** Keeps why a text, which is that member of the body, could not be read to its end. */
  readonly refuse: (error: UnreadableText, label: string, member: string) => void;
  readonly groups: () => number;
  readonly trajectories: () => number;
  /** Errors and warnings of the interface. */
  readonly findings: () => Kept<Issue>[];
  /** What is no group of trajectories at all, however little is checked. */
  readonly broken: () => Kept<Issue>[];
  /** What to do about that, where there is more to say than what it is. */
  readonly hint: () => string | undefined;
}

/** Remarks of a part of the body. */
type Judge = (fields: Fields) => (root: JsonNode) => Remark[];

// What is said of a trajectory, or of anything else, that stands where a group should.
const NO_GROUP = 'must be a group: an object with trajectories';

/** Checks of nothing yet. With a grouping trajectories may stand without a group, and must not stand in one. */
export function newChecks(judge: Judge, grouping: Grouping | undefined): Checks {
  const ofTrajectory = judge(trajectoryFields);
  const ofGroup = judge(trajectoryGroup);
  const findings = newTally<Issue>();
  const broken = newTally<Issue>();
  let groups = 0;
  let trajectories = 0;
  let inGroup = 0;
  let alone = 0;
  const room = { entries: undefined };
  // The texts of the group that is open; what stands outside of groups belongs to the body.
  let parts: Part[] | undefined;

  const remark = (remarks: readonly Remark[], path: Path, placeAt: (offset: number) => Place, label: string): void => {
    for (const one of remarks) {
      findings.add(one, () => {
        const { path: inner, message } = one.tell();
        return { path: formatPath([...path, ...inner]), at: shown(placeAt(one.at), label), message };
      });
    }
  };
  const refuse = (message: string, place: Place, label: string): void => {
    broken.add({ level: 'error', code: 'invalid' }, () => ({ path: '', at: shown(place, label), message }));
  };
  const judgeTrajectory = (passing: Passing & { kind: 'trajectory' }, label: string): JsonNode => {
    const { bytes, place, stands } = passing;
    const root = rootOf(documentAt(bytes, place, room));
    const member = stands === 'in a group' ? { group: groups - 1, at: inGroup } : grouping?.memberOf(root);
    if (stands === 'in a group') inGroup += 1;
    if (stands === 'alone') alone += 1;
    if (!member) refuse(NO_GROUP, place, label);
    else if (typeof member === 'string') refuse(member, place, label);
    else {
      trajectories += 1;
      const path = ['trajectory_groups', member.group, 'trajectories', member.at];
      remark(ofTrajectory(root), path, (offset) => placeInside(bytes, place, offset), label);
    }
    return root;
  };
  const judgeGroup = (shell: Shell, label: string): void =>
    remark(ofGroup(rootOf(documentOf(shell))), ['trajectory_groups', groups - 1], shell.placeAt, label);

  return {
    seeTrajectory: judgeTrajectory,
    see: (passing, label) => {
      switch (passing.kind) {
        case 'group':
          if (grouping) refuse('is a group already; --group-by is for trajectories without one', passing.place, label);
          groups += 1;
          inGroup = 0;
          parts = [];
          break;
        case 'trajectory':
          judgeTrajectory(passing, label);
          break;
        case 'text':
          parts?.push(partOf(passing));
          break;
        case 'end':
          judgeGroup(shellOf(parts ?? []), label);
          parts = undefined;
          break;
      }
    },
    refuse: (error, label, member) => {
      const path = error.message.startsWith('not JSON') ? member : '';
      broken.add({ level: 'error', code: 'invalid' }, () => ({ path, at: error.at(label), message: error.message }));
    },
    groups: () => grouping?.groups() ?? groups,
    trajectories: () => trajectories,
    findings: findings.kept,
    broken: broken.kept,
    hint: () => (alone > 0 && !grouping ? 'of trajectories a line, --group-by metadata.task makes groups' : undefined),
  };
}

function shown({ line, column }: Place, label: string): string {
  return `${label}:${line}:${column}`;
}
