import type { RunCommand } from '../../command.ts';
import { usageFailure } from '../../errors.ts';
import { getArrayFlag } from '../../flag.ts';
import { createMcpServer } from './mcp-server.ts';
import { splitMessages } from './message-lines.ts';
import { createToolRunner } from './run-tool.ts';
import { mcpTools } from './tools.ts';

/**
 * Serves the operations as tools of the Model Context Protocol over stdio, until stdin ends. Only tools that change
 * nothing but a bill are offered unless `--allow` names more. Throws usage for an unknown tool.
 */
export const runMcp: RunCommand = async ({ flags }, context) => {
  const allowed = getArrayFlag(flags, 'allow').flatMap((names) => names.split(',').map((name) => name.trim()));
  const unknown = allowed.find((name) => !mcpTools.some((tool) => tool.name === name));
  if (unknown !== undefined)
    throw usageFailure(
      `--allow cannot be ${JSON.stringify(unknown)}`,
      `choose from: ${mcpTools.map(({ name }) => name).join(', ')}`,
    );
  const tools = mcpTools.filter(({ name, isAlwaysAllowed }) => isAlwaysAllowed || allowed.includes(name));
  const { stdout, runtime, signal } = context;
  // One message at a time: responses of concurrent calls must not interleave.
  let lastWrite = Promise.resolve();
  const write = (line: string): Promise<void> => {
    lastWrite = lastWrite.then(() => stdout.write(`${line}\n`));
    return lastWrite;
  };
  const server = createMcpServer(tools, createToolRunner(flags, context), write);
  await context.report.detail(`serving ${tools.map(({ name }) => name).join(', ')}`);
  for await (const line of splitMessages(runtime.stdin, signal)) server.receive(line);
  await server.close();
  await lastWrite;
};
