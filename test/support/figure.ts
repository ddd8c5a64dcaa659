/** Prints a figure of the documents, so that whoever runs the test can compare. `npm test` prints failures only. */
export function figure(text: string): void {
  if (process.env.npm_lifecycle_event !== 'test') process.stdout.write(`figure: ${text}\n`);
}
