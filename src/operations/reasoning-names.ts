/** The names under which servers send the reasoning of a message, that of the interface first. The page reads them, too. */
export const reasoningNames: readonly string[] = ['reasoning', 'reasoning_content'];
