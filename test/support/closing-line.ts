import type { TestModule } from 'vitest/node';
import { DefaultReporter } from 'vitest/node';

/** A reporter that prints failures and one summary, and ends with a plain line, `N passed, N failed, N skipped`, for machines that read it. */
export class ClosingLine extends DefaultReporter {
  constructor() {
    super({ summary: false, silent: 'passed-only' });
  }

  /** Passed files print nothing; failed tests are printed at the end. */
  override printTestModule(): void {}

  /** Prints the failures, counts the tests of a run and prints the line. */
  override onTestRunEnd(...args: Parameters<DefaultReporter['onTestRunEnd']>): void {
    super.onTestRunEnd(...args);
    const [modules]: [readonly TestModule[], ...unknown[]] = args;
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) for (const test of module.children.allTests()) count[test.result().state] += 1;
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
  }
}
