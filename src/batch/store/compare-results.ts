import { type FileHandle, open } from 'node:fs/promises';
import { withFileFailure } from '../../files/file-errors.ts';
import { tryParseJson } from '../../json/parse-json.ts';
import { type Comparison, createComparison, resultText, truncateSample } from '../../reports/batch/batch-report.ts';
import { resultLineFacts } from '../../reports/batch/line-facts.ts';
import type { IndexedResult, LineTable } from './line-table.ts';
import { type OutputPath, readResult } from './output-file.ts';

/** An output whose results are in a table. */
export interface IndexedOutput extends OutputPath {
  readonly table: LineTable;
}

/** Compares the results of two outputs line by line. Throws Failure `local_file` if one cannot be read. */
export async function compareOutputs([first, second]: readonly [IndexedOutput, IndexedOutput]): Promise<Comparison> {
  const comparison = createComparison();
  const { changes } = comparison;
  const handles = new Map<IndexedOutput, FileHandle>();
  const readText = async (output: IndexedOutput, place: IndexedResult): Promise<string | undefined> => {
    const handle = handles.get(output);
    return handle && resultText(resultLineFacts(tryParseJson(await readResult(handle, place, output.displayPath))));
  };
  try {
    for (const output of [first, second])
      handles.set(output, await withFileFailure(`read ${output.displayPath}`, () => open(output.path)));
    const lastLine = Math.max(first.table.lastLine(), second.table.lastLine());
    for (let line = 1; line <= lastLine; line += 1) {
      const [before, after] = [first.table.result(line), second.table.result(line)];
      if (before && !after) comparison.onlyFirst += 1;
      if (after && !before) comparison.onlySecond += 1;
      if (!before || !after) continue;
      comparison.compared += 1;
      const [was = '', is = ''] = await Promise.all([readText(first, before), readText(second, after)]);
      const isDone = [before, after].map(({ exitCode }) => exitCode === 0);
      if (!isDone.includes(true)) comparison.failedInBoth += 1;
      const change = isDone[0] === isDone[1] ? 'different' : isDone[0] ? 'worse' : 'better';
      if (change !== 'different' || was !== is)
        changes[change].add(() => ({ line, before: truncateSample(was), after: truncateSample(is) }));
    }
  } finally {
    for (const handle of handles.values()) await handle.close();
  }
  return comparison;
}
