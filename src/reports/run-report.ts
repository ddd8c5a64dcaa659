import { Buffer } from 'node:buffer';
import { appendFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Context } from '../context.ts';
import { type Failure, usageFailure } from '../errors.ts';
import { withFileFailure } from '../files/file-errors.ts';
import { commitOrAbandon, nameSameFile, openReplacement } from '../files/file-replacement.ts';
import type { Runtime } from '../runtime.ts';
import { createDistribution } from './distribution.ts';

/** The outcome of one or more requests for CI systems, in the order of their positions. A failed expectation is a failure, and any other Failure an error. */
export interface RunReport {
  readonly add: (position: number, name: string, milliseconds: number, failure: Failure | undefined) => void;
  readonly addUnsent: () => void;
  readonly revise: (position: number, failure: Failure) => void;
  readonly save: () => Promise<void>;
}

/** The files that a run writes, by their flags. */
export interface RunFiles {
  readonly output: string | undefined;
  readonly junit: string | undefined;
  readonly summary: string | undefined;
}

/** Throws usage if a file of the report is not a file, or the file of the result, the conversation or the other report. */
export async function checkReportFiles(
  { output, junit, summary }: RunFiles,
  conversation: string | undefined,
  cwd: string,
): Promise<void> {
  for (const [flag, file] of Object.entries({ junit, summary })) {
    if (file === '-')
      throw usageFailure(
        `--${flag} writes a file, not stdout`,
        `name a file, such as ${flag}.${flag === 'junit' ? 'xml' : 'md'}`,
      );
    for (const [name, other] of Object.entries({ output, conversation, ...(flag === 'junit' ? {} : { junit }) }))
      if (await nameSameFile(file, other, cwd))
        throw usageFailure(`--${flag} and --${name} name the same file, ${file}`, `choose another file with --${flag}`);
  }
}

/** The report of `--junit` and `--summary`, see checkReportFiles. Throws Failure `local_file` if a file cannot be written. */
export async function openRunReport(
  { junit, summary }: RunFiles,
  title: string,
  context: Context,
): Promise<RunReport | undefined> {
  const { runtime, report } = context;
  if (junit === undefined && summary === undefined) return undefined;
  // Opened before anything is sent, so that a file that cannot be written costs no request.
  const saves = [
    ...(junit === undefined ? [] : [await openJunit(junit, runtime)]),
    ...(summary === undefined ? [] : [await openSummary(summary, title, runtime.cwd)]),
  ];
  const cases = new Map<number, Case>();
  let unsent = 0;
  const toProblem = ({ code, message }: Failure): Problem => ({
    element: code === 'safety_check' ? 'failure' : 'error',
    type: code,
    message: report.redact(message),
  });
  return {
    add: (position, name, milliseconds, failure) => {
      cases.set(position, { name, milliseconds, problem: failure && toProblem(failure) });
    },
    addUnsent: () => {
      unsent += 1;
    },
    revise: (position, failure) => {
      const found = cases.get(position);
      if (found) cases.set(position, { ...found, problem: toProblem(failure) });
    },
    save: async () => {
      const sorted = [...cases].sort(([left], [right]) => left - right).map(([, one]) => one);
      for (const save of saves) await save(sorted, unsent);
    },
  };
}

interface Case {
  readonly name: string;
  readonly milliseconds: number;
  readonly problem: Problem | undefined;
}

interface Problem {
  readonly element: 'failure' | 'error';
  readonly type: string;
  readonly message: string;
}

type SaveReport = (cases: readonly Case[], unsent: number) => Promise<void>;

async function openJunit(file: string, { now, cwd }: Pick<Runtime, 'now' | 'cwd'>): Promise<SaveReport> {
  const startedAt = new Date(now()).toISOString().slice(0, 19);
  const output = await openReplacement(resolve(cwd, file), file);
  return (cases) => commitOrAbandon(output, () => output.write(junitXml(cases, startedAt)));
}

function junitXml(cases: readonly Case[], startedAt: string): string {
  const { failure, error } = countProblems(cases);
  const totalMs = cases.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  const elements = cases.map(({ name, milliseconds, problem }) => {
    const head = `    <testcase classname="svc.chat" name="${xmlText(name)}" time="${seconds(milliseconds)}"`;
    if (!problem) return `${head}/>\n`;
    const { element, type } = problem;
    const detail = xmlText(problem.message);
    return `${head}>\n      <${element} type="${type}" message="${detail}">${detail}</${element}>\n    </testcase>\n`;
  });
  const totals = `tests="${cases.length}" failures="${failure}" errors="${error}" time="${seconds(totalMs)}"`;
  const suite = `  <testsuite name="svc chat" ${totals} timestamp="${startedAt}">\n${elements.join('')}  </testsuite>\n`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${totals}>\n${suite}</testsuites>\n`;
}

function countProblems(cases: readonly Case[]): Record<Problem['element'], number> {
  const counts = { failure: 0, error: 0 };
  for (const { problem } of cases) if (problem) counts[problem.element] += 1;
  return counts;
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3);
}

// XML 1.0 has no way to write other control characters and lone surrogates.
function xmlText(text: string): string {
  return Buffer.from(text)
    .toString()
    .replace(/(?![\n\r\t])\p{Cc}|[\ufffe\uffff]/gu, '\ufffd')
    .replace(/[&<>"\r\n\t]/g, (character) => `&#${character.charCodeAt(0)};`);
}

// Appended, because the steps of a CI job share the file of its summary.
async function openSummary(file: string, title: string, cwd: string): Promise<SaveReport> {
  const append = (text: string): Promise<void> =>
    withFileFailure(`write ${file}`, () => appendFile(resolve(cwd, file), text));
  await append('');
  return (cases, unsent) => append(summaryMarkdown(title, cases, unsent));
}

const MAX_CAUSES = 20;
const MAX_CAUSE_CASES = 5;
const MAX_CAUSE_CHARS = 300;

function summaryMarkdown(title: string, cases: readonly Case[], unsent: number): string {
  const { failure, error } = countProblems(cases);
  const done = cases.length - failure - error;
  const latency = createDistribution(1, true);
  for (const { milliseconds } of cases) if (milliseconds > 0) latency.add(milliseconds);
  const times = [latency.percentile(50), latency.percentile(90), latency.max()];
  const shownTimes = times.map((time) => (latency.count() === 0 ? '' : `${Math.round(time)} ms`));
  const causes = new Map<string, string[]>();
  for (const { name, problem } of cases) {
    if (!problem) continue;
    const names = causes.get(causeOf(problem)) ?? [];
    causes.set(causeOf(problem), names);
    names.push(name);
  }
  const sorted = [...causes].sort(([, left], [, right]) => right.length - left.length);
  const causeRows = sorted.slice(0, MAX_CAUSES).map(([cause, names]) => {
    const first = names.slice(0, MAX_CAUSE_CASES).map(markdownText).join(', ');
    const more = names.length > MAX_CAUSE_CASES ? ', …' : '';
    return `| ${markdownText(cause.slice(0, MAX_CAUSE_CHARS))} | ${names.length} | ${first}${more} |`;
  });
  return [
    `### ${title}: ${done} of ${cases.length + unsent} succeeded`,
    '',
    '| Succeeded | Failed expectations | Failed requests | Not sent | Latency p50 | p90 | max |',
    '|---|---|---|---|---|---|---|',
    `| ${[done, failure, error, unsent, ...shownTimes].join(' | ')} |`,
    ...(causes.size === 0 ? [] : ['', '| Failure | Count | First |', '|---|---|---|', ...causeRows]),
    ...(causes.size > MAX_CAUSES ? ['', `${causes.size - MAX_CAUSES} more kinds of failures`] : []),
    '',
    '',
  ].join('\n');
}

// Quoted values differ from request to request, the cause does not.
function causeOf({ message }: Problem): string {
  return message.replace(/"(?:[^"\\]|\\.)*"/gs, '"…"');
}

function markdownText(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[&<>|`*_[\]\\@]/g, (character) => `&#${character.charCodeAt(0)};`);
}
