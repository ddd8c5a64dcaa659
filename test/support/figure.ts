/** Prints a figure of `docs/reliability.md`, so that whoever runs the test can compare. */
export function figure(text: string): void {
  process.stdout.write(`figure: ${text}\n`);
}
