import type { Issue } from '../errors.ts';
import { type Kept, newTally } from '../fields/finding.ts';
import { remarksOf } from '../fields/judge.ts';
import type { Path } from '../json/path.ts';
import { newChecks } from '../trajectories/checks.ts';
import { groupBy } from '../trajectories/grouping.ts';
import type { Form, Passing } from '../trajectories/passing.ts';
import { readTrajectories } from '../trajectories/read.ts';
import { documentOf, type Part, partOf, shellOf } from '../trajectories/shell.ts';
import { UnreadableText } from '../trajectories/unreadable-text.ts';
import { addTo } from './group.ts';
import { openGroups } from './open-groups.ts';
import { pathText, placeText } from './place.ts';
import { seen } from './seen.ts';
import { countReward, newSummary, type Summary } from './summary.ts';
import { toolsReader } from './tools.ts';
import { examineTrajectory } from './trajectory.ts';

/** Looks at trajectories text by text, as they pass; it holds one at a time, and a little of each group that is open. */
export interface Lint {
  /** Takes all pieces of a text; `label` is what to call it. */
  readonly read: (label: string, pieces: AsyncIterable<Uint8Array>, form: Form) => Promise<void>;
  /** What was found, once all texts were read. */
  readonly end: () => Linted;
}

/** What was found in some texts, and what the checks say of them, which are those of sending. */
export interface Linted {
  readonly summary: Summary;
  /** Why they could not be sent, however little is checked. */
  readonly broken: readonly Kept<Issue>[];
  /** Errors and warnings of the interface. */
  readonly judged: readonly Kept<Issue>[];
}

/** Starts to look; with a path, trajectories without a group are put into groups by the value there. */
export function newLint(path: Path | undefined): Lint {
  const grouping = path && groupBy(path, false);
  const checks = newChecks(remarksOf, grouping);
  const summary = newSummary();
  const groups = openGroups(summary);
  const notNumbers = newTally<Issue>();
  const toolsOf = toolsReader();

  const take = (passing: Passing & { readonly kind: 'trajectory' }, label: string): void => {
    const { bytes, place, stands } = passing;
    const { root, notNumbers: offsets, problem } = seen(passing, label, checks);
    if (problem)
      notNumbers.add({ level: 'error', code: 'invalid' }, () => ({
        path: '',
        at: problem.at(label),
        message: problem.message,
      }));
    const index = stands === 'in a group' ? checks.groups() - 1 : grouping?.last();
    if (index === undefined) return;
    const group = groups.at(index, label, place);
    const at = group.count;
    const reward = examineTrajectory(root, offsets, (kind, offset, inner, message) =>
      summary.findings.add(kind, () => ({
        at: placeText(label, place, bytes, offset),
        path: pathText(index, at, inner),
        message,
      })),
    );
    addTo(group, reward, toolsOf(root));
    if (reward !== undefined) countReward(summary, reward);
    summary.trajectories += 1;
    summary.largest.add(bytes.length, () => ({ at: placeText(label, place), path: pathText(index, at) }));
  };

  const read = async (label: string, pieces: AsyncIterable<Uint8Array>, form: Form): Promise<void> => {
    const outside: Part[] = [];
    let isInGroup = false;
    for await (const some of readTrajectories(counted(pieces, summary), form)) {
      for (const passing of some) {
        if (passing.kind === 'trajectory') take(passing, label);
        else checks.see(passing, label);
        if (passing.kind === 'text' && !isInGroup) outside.push(partOf(passing));
        if (passing.kind === 'group') groups.at(checks.groups() - 1, label, passing.place);
        if (passing.kind === 'end' && !grouping) groups.close();
        if (passing.kind === 'group' || passing.kind === 'end') isInGroup = passing.kind === 'group';
      }
    }
    if (form === 'body') documentOf(shellOf(outside));
  };

  return {
    read: async (label, pieces, form) => {
      try {
        await read(label, pieces, form);
      } catch (error) {
        if (!(error instanceof UnreadableText)) throw error;
        checks.refuse(error, label, '');
        // Of a group that broke off nobody knows the rest.
        if (!grouping) groups.drop();
      }
    },
    end: () => {
      groups.close();
      summary.groups = checks.groups();
      return { summary, broken: [...notNumbers.kept(), ...checks.broken()], judged: checks.findings() };
    },
  };
}

async function* counted(pieces: AsyncIterable<Uint8Array>, summary: Summary): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    summary.bytes += piece.length;
    yield piece;
  }
}
