import type { Reporter, TestModule } from 'vitest/node';

/** A reporter that ends a run with one plain line, `N passed, N failed, N skipped`, for machines that read it. */
export class ClosingLine implements Reporter {
  /** Counts the tests of a run and prints the line. */
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) for (const test of module.children.allTests()) count[test.result().state] += 1;
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
  }
}
