import { Buffer } from 'node:buffer';
import { resolve } from 'node:path';
import type { Context } from '../../context.ts';
import { type Failure, usageFailure } from '../../errors.ts';
import { commitOrAbandon, nameSameFile, openReplacement } from '../../files/file-replacement.ts';
import { type FlagValues, getStringFlag } from '../../flag.ts';

/** A JUnit report with one test case per request, in the order of their positions. A failed expectation is a failure, and any other Failure an error. */
export interface JunitReport {
  readonly add: (position: number, name: string, milliseconds: number, failure: Failure | undefined) => void;
  /** Changes the outcome of a request that was added. */
  readonly revise: (position: number, failure: Failure) => void;
  readonly save: () => Promise<void>;
}

/** Throws usage if the report of `--junit` is not a file, or the file of the result or the conversation. */
export async function checkJunitFile(flags: FlagValues, cwd: string): Promise<void> {
  const file = getStringFlag(flags, 'junit');
  if (file === '-') throw usageFailure('--junit writes a file, not stdout', 'name a file, such as junit.xml');
  for (const name of ['output', 'conversation'])
    if (await nameSameFile(file, getStringFlag(flags, name), cwd))
      throw usageFailure(`--junit and --${name} name the same file, ${file}`, 'choose another file with --junit');
}

/** The report of `--junit`, if there is one; see checkJunitFile. Throws Failure `local_file` if the file cannot be written. */
export async function openJunitReport(
  flags: FlagValues,
  { runtime, report }: Pick<Context, 'runtime' | 'report'>,
): Promise<JunitReport | undefined> {
  const file = getStringFlag(flags, 'junit');
  if (file === undefined) return undefined;
  // Opened before anything is sent, so that a file that cannot be written costs no request.
  const output = await openReplacement(resolve(runtime.cwd, file), file);
  const startedAt = new Date(runtime.now()).toISOString().slice(0, 19);
  const cases = new Map<number, { name: string; milliseconds: number; problem: Problem | undefined }>();
  const toProblem = ({ code, message }: Failure): Problem => ({
    element: code === 'safety_check' ? 'failure' : 'error',
    type: code,
    detail: xmlText(report.redact(message)),
  });
  return {
    add: (position, name, milliseconds, failure) => {
      cases.set(position, { name, milliseconds, problem: failure && toProblem(failure) });
    },
    revise: (position, failure) => {
      const found = cases.get(position);
      if (found) found.problem = toProblem(failure);
    },
    save: async () => {
      const counts = { failure: 0, error: 0 };
      let totalMs = 0;
      const elements: string[] = [];
      for (const [, { name, milliseconds, problem }] of [...cases].sort(([left], [right]) => left - right)) {
        totalMs += milliseconds;
        if (problem) counts[problem.element] += 1;
        const head = `<testcase classname="svc.chat" name="${xmlText(name)}" time="${seconds(milliseconds)}"`;
        elements.push(problem ? `    ${head}>\n${problemXml(problem)}    </testcase>\n` : `    ${head}/>\n`);
      }
      const totals = `tests="${cases.size}" failures="${counts.failure}" errors="${counts.error}" time="${seconds(totalMs)}"`;
      const suite = `  <testsuite name="svc chat" ${totals} timestamp="${startedAt}">\n${elements.join('')}  </testsuite>\n`;
      const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${totals}>\n${suite}</testsuites>\n`;
      await commitOrAbandon(output, () => output.write(xml));
    },
  };
}

interface Problem {
  readonly element: 'failure' | 'error';
  readonly type: string;
  /** As XML. */
  readonly detail: string;
}

function problemXml({ element, type, detail }: Problem): string {
  return `      <${element} type="${type}" message="${detail}">${detail}</${element}>\n`;
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
