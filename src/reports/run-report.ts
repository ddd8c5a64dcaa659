import { Buffer } from 'node:buffer';
import { appendFile, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Context } from '../context.ts';
import { type Failure, toFailure, usageFailure } from '../errors.ts';
import { undefinedIfNotFound, withFileFailure } from '../files/file-errors.ts';
import { commitOrAbandon, isReplaceable, nameSameFile, openReplacement } from '../files/file-replacement.ts';
import { type JsonValue, writeJson } from '../json/write-json.ts';
import { addFactTotals, createFactTotals, type FactTotals, factLines, factsFor } from '../operations/received-facts.ts';
import { issueText, mapTexts } from '../output/failure-text.ts';
import { pluralize } from '../output/transfer-text.ts';
import { ClosedPipeError } from '../output/writer.ts';
import type { Runtime } from '../runtime.ts';
import type { LineResult } from './batch/line-facts.ts';
import { createDistribution } from './distribution.ts';

/** The outcomes of requests for CI systems, in the order of their positions. An expectation that failed is a failure, any other Failure an error. */
export interface RunReport {
  readonly add: (position: number, name: string, milliseconds: number, outcome: Outcome) => void;
  readonly addUnsent: () => void;
  readonly revise: (position: number, failure: Failure) => void;
  /** The reason is that of the lines that were not sent. */
  readonly save: (unsentReason?: string) => Promise<void>;
}

type Outcome = Pick<LineResult, 'failure' | 'received'>;

/** The reports that a run writes beside its output. To add one, add a row, and its flag (src/client/request-flags.ts). */
export const reportFiles = [
  { flag: 'junit', example: 'junit.xml', open: openJunit },
  { flag: 'summary', example: 'summary.md', open: openSummary },
] as const;

/** The files that a run writes, by their flags. */
export type RunFiles = { readonly [flag in 'output' | (typeof reportFiles)[number]['flag']]: string | undefined };

/** The files that the flags of a run name, with paths that `fill` completes. */
export function runFilesOf({ output, junit, summary }: Partial<RunFiles>, fill = (path?: string) => path): RunFiles {
  return { output: fill(output), junit: fill(junit), summary: fill(summary) };
}

/**
 * Runs `run` with the report of `--junit` and `--summary`, if one is requested. Until it is saved, the files say that the run is not
 * finished; a failure before anything was sent is a case of its own. Throws what `run` throws, usage for files that are not files of
 * their own, and Failure `local_file` before `run` for one that cannot be written.
 */
export async function withRunReport(
  files: RunFiles,
  conversation: string | undefined,
  title: string,
  context: Context,
  run: (report: RunReport | undefined) => Promise<void>,
): Promise<void> {
  await checkReportFiles(files, conversation, context.runtime.cwd);
  const { runReport, end } = await openRunReport(files, title, context);
  try {
    await run(runReport);
  } catch (error) {
    if (!(error instanceof ClosedPipeError)) await end(toFailure(error));
    throw error;
  }
}

async function checkReportFiles(files: RunFiles, conversation: string | undefined, cwd: string) {
  const others = Object.entries({ output: files.output, conversation });
  for (const { flag, example } of reportFiles) {
    const file = files[flag];
    if (file === '-') throw usageFailure(`--${flag} writes a file, not stdout`, `name a file, such as ${example}`);
    for (const [name, other] of others)
      if (await nameSameFile(file, other, cwd))
        throw usageFailure(`--${flag} and --${name} name the same file, ${file}`, `choose another file with --${flag}`);
    others.push([flag, file]);
  }
}

async function openRunReport(files: RunFiles, title: string, { runtime, report }: Context) {
  const saves: SaveReport[] = [];
  // Opened before anything is sent, so that a file that cannot be written costs no request.
  for (const { flag, open: openReport } of reportFiles) {
    const file = files[flag];
    if (file !== undefined) saves.push(await openReport(file, title, runtime));
  }
  if (saves.length === 0) return { runReport: undefined, end: async () => {} };
  const cases = new Map<number, Case>();
  const totals = createFactTotals();
  let unsent = 0;
  let isSaved = false;
  const toProblem = ({ code, message, facts: { applied, hint, issues = [] } }: Failure): Problem => ({
    // Other safety checks stop a request before it is sent.
    element: code === 'safety_check' && applied === 'yes' ? 'failure' : 'error',
    type: code,
    message: report.redact(message),
    details: [...issues.map((issue) => issueText(issue)), hint ?? []].flat().map(report.redact),
    cause: [message, ...issues.map((issue) => issueText({ ...issue, at: undefined })), hint ?? ''].join('; '),
  });
  const runReport: RunReport = {
    add: (position, name, milliseconds, { failure, received }) => {
      addFactTotals(totals, received);
      const facts = Object.entries(mapTexts(factsFor('junit', received), report.redact));
      cases.set(position, { name: report.redact(name), milliseconds, facts, problem: failure && toProblem(failure) });
    },
    addUnsent: () => {
      unsent += 1;
    },
    revise: (position, failure) => {
      const found = cases.get(position);
      if (found) cases.set(position, { ...found, problem: toProblem(failure) });
    },
    save: async (unsentReason) => {
      isSaved = true;
      const sorted = [...cases].sort(([left], [right]) => left - right).map(([, one]) => one);
      for (const save of saves)
        await save(sorted, { unsent, unsentReason: unsentReason && report.redact(unsentReason), totals });
    },
  };
  const end = async (failure: Failure): Promise<void> => {
    if (isSaved) return;
    if (cases.size === 0) runReport.add(1, title, 0, { failure, received: {} });
    await runReport.save().catch((error: unknown) => report.warn(toFailure(error).message));
  };
  return { runReport, end };
}

interface Case {
  readonly name: string;
  readonly milliseconds: number;
  readonly facts: readonly (readonly [name: string, value: JsonValue])[];
  readonly problem: Problem | undefined;
}

interface Problem {
  readonly element: 'failure' | 'error';
  readonly type: string;
  readonly message: string;
  /** Its issues, and its hint. */
  readonly details: readonly string[];
  /** The reason without places, by which the problems of several cases are grouped. */
  readonly cause: string;
}

const UNFINISHED = createProblem('not_finished', 'the run is not finished');

function createProblem(type: string, message: string): Problem {
  return { element: 'error', type, message, details: [], cause: '' };
}

interface Totals {
  readonly unsent: number;
  readonly unsentReason?: string | undefined;
  readonly totals: FactTotals;
}

type SaveReport = (cases: readonly Case[], totals: Totals) => Promise<void>;

async function openJunit(file: string, title: string, { now, cwd }: Pick<Runtime, 'now' | 'cwd'>): Promise<SaveReport> {
  const startedAt = new Date(now()).toISOString().slice(0, 19);
  const path = resolve(cwd, file);
  let output = await openReplacement(path, file);
  const save: SaveReport = (cases, totals) =>
    commitOrAbandon(output, () => output.write(junitXml([...cases, ...unsentCases(totals)], startedAt)));
  // A pipe or a device takes one report.
  if (!(await isReplaceable(path))) return save;
  await save([{ name: title, milliseconds: 0, facts: [], problem: UNFINISHED }], {
    unsent: 0,
    totals: createFactTotals(),
  });
  return async (...report) => {
    output = await openReplacement(path, file);
    await save(...report);
  };
}

// One for all: a stopped batch may have millions of lines that were not sent.
function unsentCases({ unsent, unsentReason = 'the batch was stopped' }: Totals): Case[] {
  if (unsent === 0) return [];
  const message = `${unsent} ${pluralize(unsent, 'line was', 'lines were')} not sent: ${unsentReason}`;
  const problem = createProblem('not_sent', message);
  return [{ name: 'lines that were not sent', milliseconds: 0, facts: [], problem }];
}

function junitXml(cases: readonly Case[], startedAt: string): string {
  const { failure, error } = countProblems(cases);
  const totalMs = cases.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  const elements = cases.map(({ name, milliseconds, facts, problem }) => {
    const head = `    <testcase classname="svc.chat" name="${xmlText(name)}" time="${seconds(milliseconds)}"`;
    const properties = facts.map(
      ([fact, value]) =>
        `        <property name="${fact}" value="${xmlText(typeof value === 'string' ? value : writeJson(value))}"/>\n`,
    );
    const known = properties.length === 0 ? '' : `      <properties>\n${properties.join('')}      </properties>\n`;
    if (!problem) return known === '' ? `${head}/>\n` : `${head}>\n${known}    </testcase>\n`;
    const { element, type, message, details } = problem;
    const whole = xmlText([message, ...details].join('\n'));
    return `${head}>\n${known}      <${element} type="${type}" message="${xmlText(message)}">${whole}</${element}>\n    </testcase>\n`;
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
async function openSummary(file: string, title: string, { cwd }: Pick<Runtime, 'cwd'>): Promise<SaveReport> {
  const path = resolve(cwd, file);
  const append = (text: string): Promise<void> => withFileFailure('write', file, () => appendFile(path, text));
  const before = await stat(path).catch(undefinedIfNotFound);
  const isFile = before?.isFile() ?? true;
  const unfinished = `### ${title}: not finished\n\n`;
  await append(isFile ? unfinished : '');
  return async (cases, totals) => {
    const text = summaryMarkdown(title, cases, totals);
    if (!isFile) return append(text);
    await withFileFailure('write', file, async () => {
      const handle = await open(path, 'r+');
      try {
        const at = before?.size ?? 0;
        const { length } = unfinished;
        const { buffer } = await handle.read(Buffer.alloc(length), 0, length, at);
        const isLast = (await handle.stat()).size === at + length;
        // Beside the text that another step appended since, the place stays empty.
        const isOwn = buffer.toString() === unfinished;
        if (isOwn) await handle.write(isLast ? text : ' '.repeat(length - 2).concat('\n\n'), at);
        if (!isOwn || !isLast) await append(text);
      } finally {
        await handle.close();
      }
    });
  };
}

const MAX_CAUSES = 20;
const MAX_CAUSE_CASES = 5;
const MAX_CAUSE_CHARS = 2000;

function summaryMarkdown(title: string, cases: readonly Case[], { unsent, unsentReason, totals }: Totals): string {
  const { failure, error } = countProblems(cases);
  const done = cases.length - failure - error;
  const latency = createDistribution(1, true);
  for (const { milliseconds } of cases) if (milliseconds > 0) latency.add(milliseconds);
  const times = [latency.percentile(50), latency.percentile(90), latency.max()];
  const shownTimes = times.map((time) => (latency.count() === 0 ? '' : `${Math.round(time)} ms`));
  return [
    `### ${title}: ${done} of ${cases.length + unsent} succeeded`,
    '',
    '| Succeeded | Failed expectations | Failed requests | Not sent | Latency p50 | p90 | max |',
    '|---|---|---|---|---|---|---|',
    `| ${[done, failure, error, unsent, ...shownTimes].join(' | ')} |`,
    ...(unsent > 0 && unsentReason ? [`\nNot sent: ${markdownText(unsentReason)}`] : []),
    ...factLines(totals).map((line) => `\n${markdownText(line)}`),
    ...causeLines('Failed expectation', 'failure', cases),
    ...causeLines('Failed request', 'error', cases),
    '',
    '',
  ].join('\n');
}

// A table of the causes: the whole reason of the first case of each, how many cases have it, and the first ones.
function causeLines(heading: string, element: Problem['element'], cases: readonly Case[]): string[] {
  const causes = new Map<string, { readonly reasons: Set<string>; readonly names: string[] }>();
  for (const { name, problem } of cases) {
    if (problem?.element !== element) continue;
    // Quoted values differ from request to request, the cause does not.
    const key = problem.cause.replace(/"(?:[^"\\]|\\.)*"/gs, '"…"');
    const { reasons, names } = causes.get(key) ?? { reasons: new Set(), names: [] };
    causes.set(key, { reasons, names });
    if (reasons.size < 2) reasons.add([problem.message, ...problem.details].join('; '));
    names.push(name);
  }
  if (causes.size === 0) return [];
  const sorted = [...causes.values()].sort((left, right) => right.names.length - left.names.length);
  const rows = sorted.slice(0, MAX_CAUSES).map(({ reasons: [reason = '', other], names }) => {
    const text = reason.slice(0, MAX_CAUSE_CHARS) + (other === undefined ? '' : ', and others');
    const first = names.slice(0, MAX_CAUSE_CASES).map(markdownText).join(', ');
    return `| ${markdownText(text)} | ${names.length} | ${first}${names.length > MAX_CAUSE_CASES ? ', …' : ''} |`;
  });
  const more = causes.size - MAX_CAUSES;
  return [
    '',
    `| ${heading} | Count | First |`,
    '|---|---|---|',
    ...rows,
    ...(more > 0 ? ['', `${more} more kinds of failures`] : []),
  ];
}

function markdownText(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[&<>|`*_[\]\\@]/g, (character) => `&#${character.charCodeAt(0)};`);
}
