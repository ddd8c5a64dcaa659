/** Prints a figure of the documents, so that whoever runs the test can compare. */
export function figure(text: string): void {
  process.stdout.write(`figure: ${text}\n`);
}
