import { Buffer } from 'node:buffer';
import type { Issue } from '../../errors.ts';
import { createFindingCollector, type PendingFinding } from '../../fields/finding.ts';
import { createBodyInspector } from '../../fields/schema-validator.ts';
import {
  firstStringMember,
  formatJsonPath,
  getMember,
  itemsAt,
  type JsonNode,
  type JsonPath,
  kindOf,
  membersOf,
  nodeAtPath,
  rawText,
  rootOf,
  stringOf,
} from '../../json/json-node.ts';
import { trajectoryGroupShape, trajectoryShape } from '../../operations/train.ts';
import { shellWord } from '../../output/shell-quote.ts';
import type { TrajectoryEvent, TrajectoryPart } from './reader.ts';
import {
  createEnvelope,
  type InvalidTextError,
  locationInside,
  parseTextAt,
  type TextLocation,
  type TextPart,
} from './text-position.ts';

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
    else if (trajectoryCount === 1) messagesHint = recordHint(root, label, container, true);
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

/** How to make trajectories of records that are none, by the fields of the first one; `isGrouped` with `--group-by`. */
function recordHint(
  record: JsonNode,
  label: string,
  container: TrajectoryPart['container'],
  isGrouped = container === 'in a group',
): string | undefined {
  const keys = kindOf(record) === 'object' ? Array.from(membersOf(record), ({ key }) => key) : [];
  if (keys.includes('messages_and_choices') && !isGrouped)
    return `${groupingHint(record)}${container === 'in a list' ? `; if each array is a group: ${filterCommand('{trajectories: .}', label, true)}` : ''}`;
  if (container === 'in a list' && keys.includes('role') && keys.includes('content'))
    return `if each array is a trajectory, add its reward: ${filterCommand('{messages_and_choices: ., reward: <reward>, metadata: {task: .[0].content}}', label)}`;
  if (keys.includes('line') && keys.includes('exit_code'))
    return getMember(getMember(record, 'response'), 'choices')
      ? `these are results of chats: add their prompts and rewards, as in: jq -c --slurpfile bodies <input of the batch> '{task: .line} as $task | ($bodies[.line - 1].messages // error("line \\(.line) has no messages")) as $prompt | .response.choices[]? | {messages_and_choices: ($prompt + [.]), reward: <reward>, metadata: $task}' ${shellWord(label)}; after --rows, $prompt is [{role: "user", content: <prompt with $bodies[.line - 1].<column>>}]`
      : `these are results of a batch; to summarize them, run: svc batch report ${shellWord(label)}`;
  if (keys.includes('resourceSpans')) return `this is OTLP/JSON of traces; run: svc call import ${shellWord(label)}`;
  if (keys.includes('data_source') && keys.includes('reward_model') && !keys.includes('output'))
    return 'these look like tasks of verl, without rollouts: sample them first, and train on the files in its trainer.rollout_data_dir';
  if (keys.includes('chosen') && keys.includes('rejected'))
    return 'these look like preference pairs: svc trains on responses that each have a reward; run: svc help training';
  const reward = rewardFilter(record, keys);
  const form = forms.find(({ has }) => has.every((names) => names.some((name) => isUsed(record, name))));
  const hasResponse = firstStringMember(itemsAt(record, 'messages').at(-1), 'role') === 'assistant';
  if (form?.isChat && reward === undefined && container === 'alone')
    return hasResponse
      ? 'these look like chats for supervised training; svc trains on rewards; run: svc help training'
      : `these look like chat bodies: svc chat --batch ${label === 'stdin' ? '-' : shellWord(label)}`;
  if (!form && isGrouped) return undefined;
  if (!form && (keys.includes('reward') || keys.includes('metadata'))) return groupingHint(record);
  if (!form) return `${foundKeys(keys)}; a trajectory has messages_and_choices and reward, a group has trajectories`;
  const [first = '', second = ''] = form.has.map((names) => names.find((name) => isUsed(record, name)) ?? '');
  const task = taskNames.find((name) => keys.includes(name));
  const ownTask = task ? `.${task}` : (form.task?.(`.${first}`) ?? `.${first}`);
  const messages = form.messages(`.${first}`, `.${second}`);
  const logprobs = logprobsFilter(getMember(record, 'logprobs'));
  const own = [
    `messages_and_choices: ${logprobs ? `(. as $record | ${messages} | .[-1] |= {index: 0, message: ., finish_reason: ($record.finish_reason // "stop"), logprobs: ${logprobs}})` : messages}`,
    ...(reward === undefined ? [] : [`reward: ${reward}`]),
    `metadata: {task: (${container === 'in a group' ? '$task // ' : ''}${ownTask} | tostring)}`,
  ].join(', ');
  const filter = `${own.includes('m("') ? asMessages : ''}${containers[container]}{${own}}`;
  const lacks = reward === undefined ? '; they have no reward, so add one to each' : '';
  const untrained = logprobs ? '' : ', without tokens and their logprobs, which a trainer needs';
  return `these look like ${form.name}${untrained}: ${filterCommand(filter, label)}${lacks}`;
}

/** Paths of a trajectory by which it may be grouped, the likeliest first. */
function groupPaths(trajectory: JsonNode): string[] {
  const inside = (name: string): string[] => {
    const object = name === '' ? trajectory : getMember(trajectory, name);
    if (!object || kindOf(object) !== 'object') return [];
    return Array.from(membersOf(object)).flatMap(({ key, value }) =>
      /^[A-Za-z_]\w*$/.test(key) && ['string', 'number'].includes(kindOf(value)) && !/reward|policy|time/.test(key)
        ? [name === '' ? key : `${name}.${key}`]
        : [],
    );
  };
  const isLikely = (path: string): boolean => /task|prompt|problem|question|example|scenario|group/.test(path);
  const paths = [...inside('metadata'), ...inside('')];
  return [...paths.filter(isLikely), ...paths.filter((path) => !isLikely(path))];
}

function groupingHint(trajectory: JsonNode): string {
  const [path] = groupPaths(trajectory);
  if (path !== undefined) return `if each line is a trajectory, group them: add --group-by ${path}`;
  return 'if each line is a trajectory, add metadata.task to each, the same for all of one task, and then --group-by metadata.task';
}

// A text, or messages as they are.
const asMessages = 'def m($role): if type == "string" then [{role: $role, content: .}] else . // [] end; ';

interface RecordForm {
  /** Its records are also the input of other commands. */
  readonly isChat?: true;
  readonly name: string;
  /** Names of the fields that make it this form: of each list, one. */
  readonly has: readonly (readonly string[])[];
  /** The filter that makes messages of its first and second field. */
  readonly messages: (first: string, second: string) => string;
  readonly task?: (first: string) => string;
}

// A system message can be that of all tasks.
const firstMessage = (list: string): string => `(${list} | map(select(.role == "user"))[0].content)`;

const forms: readonly RecordForm[] = [
  {
    name: 'trajectories of rLLM',
    has: [['steps']],
    messages: (steps) => `(${steps}[-1].chat_completions // [])`,
    task: (steps) => firstMessage(`(${steps}[-1].chat_completions // [])`),
  },
  {
    name: 'rollouts of NeMo Gym',
    has: [['responses_create_params'], ['response']],
    messages: (request, response) =>
      `((${request}.input | m("user")) + [${response}.output[] | select(.type == "message") | {role, content: ([.content[].text // ""] | add)}])`,
    task: (request) => `${request}.input`,
  },
  {
    name: 'rollouts of NeMo RL',
    has: [['message_log']],
    messages: (log) => `[${log}[] | {role, content}]`,
    task: firstMessage,
  },
  {
    name: 'prompts and completions (TRL, prime-rl, verl or a table)',
    has: [
      ['prompt', 'input', 'question', 'instruction', 'query', 'problem'],
      ['completion', 'response', 'output', 'generation', 'answer'],
    ],
    messages: (prompt, completion) => `((${prompt} | m("user")) + (${completion} | m("assistant")))`,
  },
  {
    name: 'conversations with from and value',
    has: [['conversations']],
    messages: (list) => `[${list}[] | {role: ({human: "user", gpt: "assistant"}[.from] // .from), content: .value}]`,
    task: (list) => `${list}[0].value`,
  },
  { isChat: true, name: 'chats with rewards', has: [['messages']], messages: (list) => list, task: firstMessage },
];

const containers = {
  alone: '',
  'in a list': '.[] | ',
  'in a group': '(if type == "array" then .[] else . end) | .task as $task | .trajectories[] | ',
} as const satisfies Record<TrajectoryPart['container'], string>;

// `task` is left out: exporters write the name of a whole environment there.
const taskNames = ['task_id', 'example_id', 'prompt_id', 'problem_id', 'question_id', 'group_id'];

const rewardNames = ['reward', 'score', 'rewards', 'total_reward', 'final_reward', 'is_correct', 'correct', 'acc'];

// The reward of a record as a filter. TRL names a reward after the function that gave it, beside step and advantage.
function rewardFilter(record: JsonNode, keys: readonly string[]): string | undefined {
  const isReward = (name: string): boolean => {
    const kind = kindName(record, name);
    return kind === 'number' || kind === 'boolean';
  };
  const others = keys.includes('advantage') ? keys.filter((key) => key !== 'step' && key !== 'advantage') : [];
  const name = [...rewardNames, ...others].find(isReward);
  if (name === undefined) return undefined;
  const path = /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `.[${JSON.stringify(name)}]`;
  return kindName(record, name) === 'number' ? path : `(if ${path} then 1 else 0 end)`;
}

// The logprobs of a choice, from a record in $record that has tokens: as OpenAI writes them, or their list alone.
function logprobsFilter(logprobs: JsonNode | undefined): string | undefined {
  const hasTokens = (list: JsonNode | undefined) =>
    list && kindOf(list) === 'list' && getMember(nodeAtPath(list, [0]), 'token');
  if (hasTokens(logprobs)) return '{content: $record.logprobs}';
  return hasTokens(getMember(logprobs, 'content')) ? '$record.logprobs' : undefined;
}

function kindName(record: JsonNode, name: string): string | undefined {
  const value = getMember(record, name);
  return value && kindOf(value);
}

function isUsed(record: JsonNode, name: string): boolean {
  const kind = kindName(record, name);
  return kind === 'string' || kind === 'object' || kind === 'list';
}

function foundKeys(keys: readonly string[]): string {
  if (keys.length === 0) return 'the first record is not an object with fields';
  const shown = keys.slice(0, 8).map((key) => JSON.stringify(key.slice(0, 40)));
  return `the first record has the fields ${shown.join(', ')}${keys.length > shown.length ? ', …' : ''}`;
}

// The output is named after the input, in this directory, so that it is neither the input nor read with it again.
function filterCommand(filter: string, label: string, isGrouped = false): string {
  const name = label === 'stdin' ? 'rollouts' : label.replace(/^.*\//, '').replace(/(\.(jsonl?|ndjson|gz|gzip))*$/, '');
  const made = shellWord(`${name}.trajectories.jsonl`);
  const reading = /\.gz(ip)?$/.test(label) ? `gzip -dc ${shellWord(label)} | ` : '';
  const file = label === 'stdin' || reading !== '' ? '' : ` ${shellWord(label)}`;
  return `${reading}jq -c ${shellWord(filter)}${file} > ${made} && svc train lint ${made}${isGrouped ? '' : ' --group-by metadata.task'}`;
}
