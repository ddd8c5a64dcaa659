import { BaseSequencer, type TestSpecification } from 'vitest/node';

// The files that take longest on two idle cores, in that order.
const longFiles = [
  'reliability/faults',
  'reliability/canaries',
  'reliability/batch-memory',
  'reliability/output-lock',
  'reliability/batch-kills',
  'e2e/verdicts',
  'e2e/kept-for-the-server',
  'interop/both-stores',
  'reliability/descriptors',
  'interop/completions',
  'e2e/documentation',
  'e2e/jq',
  'e2e/call-run',
  'results/stream-law',
  'e2e/inputs',
  'trace/call-run',
];

/** Starts the longest files first, so that none of them runs alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = longFiles.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return at === -1 ? longFiles.length : at;
    };
    return sorted.sort((left, right) => rank(left) - rank(right));
  }
}
