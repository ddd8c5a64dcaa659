import type { FlagValues } from '../../flag.ts';

/** The clients that `--print` takes: the file in which each registers servers, and the registration of svc in it. */
export const registrations: {
  readonly [client: string]: { readonly file: string; readonly text: (args: readonly string[]) => string };
} = {
  claude: { file: '.mcp.json in the project', text: (args) => json('mcpServers', { type: 'stdio', args }) },
  codex: { file: '~/.codex/config.toml', text: toml },
  cursor: { file: '.cursor/mcp.json in the project', text: (args) => json('mcpServers', { args }) },
  vscode: { file: '.vscode/mcp.json in the project', text: (args) => json('servers', { type: 'stdio', args }) },
};

function json(servers: string, registration: object): string {
  return `${JSON.stringify({ [servers]: { svc: { command: 'svc', ...registration } } }, null, 2)}\n`;
}

function toml(args: readonly string[]): string {
  return `[mcp_servers.svc]\ncommand = "svc"\nargs = [${args.map((arg) => JSON.stringify(arg)).join(', ')}]\n`;
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
