import type { FlagValues } from '../../flag.ts';

/** A client of MCP servers: the file in which it registers them, and the registration of svc for it. */
export interface Registration {
  readonly file: string;
  readonly text: (args: readonly string[]) => string;
}

/** The registrations by the name of the client, as `--print` takes it. */
export const registrations = {
  claude: {
    file: '.mcp.json in the project',
    text: (args) => json({ mcpServers: { svc: { ...stdio, ...command(args) } } }),
  },
  codex: {
    file: '~/.codex/config.toml',
    text: (args) =>
      `[mcp_servers.svc]\ncommand = "svc"\nargs = [${args.map((arg) => JSON.stringify(arg)).join(', ')}]\n`,
  },
  cursor: { file: '.cursor/mcp.json in the project', text: (args) => json({ mcpServers: { svc: command(args) } }) },
  vscode: {
    file: '.vscode/mcp.json in the project',
    text: (args) => json({ servers: { svc: { ...stdio, ...command(args) } } }),
  },
} satisfies { readonly [client: string]: Registration };

const stdio = { type: 'stdio' };

function command(args: readonly string[]) {
  return { command: 'svc', args };
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The arguments of `svc mcp` with the same flags, without `--print`. */
export function serverArguments(flags: FlagValues): string[] {
  const words = Array.from(flags, ([name, value]) => {
    if (name === 'print') return [];
    if (typeof value === 'boolean') return [value ? `--${name}` : `--no-${name}`];
    return [value].flat().flatMap((one) => [`--${name}`, one]);
  });
  return ['mcp', ...words.flat()];
}
