import { type FileHandle, open } from 'node:fs/promises';
import { withFileFailure } from '../files/file-errors.ts';
import { tryParseJson } from '../json/parse-json.ts';
import { createSpacedSample } from '../results/distribution.ts';
import { resultText, truncateSample } from './batch-report.ts';
import type { IndexedResult, LineTable } from './store/line-table.ts';
import { type OutputPath, readResult } from './store/output-file.ts';
import { resultLineFacts } from './store/result-line.ts';

/** An output whose results are in a table. */
export interface IndexedOutput extends OutputPath {
  readonly table: LineTable;
}

/** How a line of the second output differs: it is not done only there, is done only there, or has another text. */
export const lineChanges = ['worse', 'better', 'different'] as const;

export type Comparison = Awaited<ReturnType<typeof compareOutputs>>;

const MAX_CHANGED_LINES = 50;

/** Compares the results of two outputs line by line. Throws Failure `local_file` if one cannot be read. */
export async function compareOutputs([first, second]: readonly [IndexedOutput, IndexedOutput]) {
  // The failure or the response in the first output, and in the second one.
  const sample = () => createSpacedSample<{ line: number; before: string; after: string }>(MAX_CHANGED_LINES);
  const changes = { worse: sample(), better: sample(), different: sample() };
  const handles = new Map<IndexedOutput, FileHandle>();
  const readText = async (output: IndexedOutput, place: IndexedResult): Promise<string | undefined> => {
    const handle = handles.get(output);
    return handle && resultText(resultLineFacts(tryParseJson(await readResult(handle, place, output.displayPath))));
  };
  const counts = { compared: 0, onlyFirst: 0, onlySecond: 0 };
  try {
    for (const output of [first, second])
      handles.set(output, await withFileFailure(`read ${output.displayPath}`, () => open(output.path)));
    const lastLine = Math.max(first.table.lastLine(), second.table.lastLine());
    for (let line = 1; line <= lastLine; line += 1) {
      const [before, after] = [first.table.result(line), second.table.result(line)];
      if (before && !after) counts.onlyFirst += 1;
      if (after && !before) counts.onlySecond += 1;
      if (!before || !after) continue;
      counts.compared += 1;
      const [was = '', is = ''] = await Promise.all([readText(first, before), readText(second, after)]);
      const isDone = [before, after].map(({ exitCode }) => exitCode === 0);
      const change = isDone[0] === isDone[1] ? 'different' : isDone[0] ? 'worse' : 'better';
      if (change !== 'different' || was !== is)
        changes[change].add(() => ({ line, before: truncateSample(was), after: truncateSample(is) }));
    }
  } finally {
    for (const handle of handles.values()) await handle.close();
  }
  return { ...counts, changes };
}
