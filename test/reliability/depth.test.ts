import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { answering } from '../support/service.ts';
import { svc } from '../support/svc.ts';

const env = {
  SVC_BASE_URL: 'https://svc.test',
  SVC_TOKEN: 'tok-en-1',
  SVC_USERNAME: 'api',
  SVC_PASSWORD: 'pass-word-1',
};
const depth = 100_000;
const kinds = [
  ['lists', '['.repeat(depth) + ']'.repeat(depth)],
  ['objects', `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`],
] as const;
const user = '"messages":[{"role":"user","content":"x"}]';
const bodies: readonly (readonly [
  name: string,
  args: readonly string[],
  body: (deep: string) => string,
  code: number,
])[] = [
  ['an unknown member', ['chat', '--dry-run', '-q'], (deep) => `{${user},"x":${deep}}`, 0],
  ['an unknown member under --curl', ['chat', '--curl', '-q'], (deep) => `{${user},"x":${deep}}`, 0],
  ['a content', ['chat', '--dry-run', '-q'], (deep) => `{"messages":[{"role":"user","content":${deep}}]}`, 0],
  ['messages', ['chat', '--dry-run', '-q'], (deep) => `{"messages":${deep}}`, 3],
  ['tools', ['chat', '--dry-run', '-q'], (deep) => `{${user},"tools":${deep}}`, 3],
  ['groups', ['train', '--dry-run', '-q'], (deep) => `{"model_id":"x","trajectory_groups":${deep}}`, 3],
  [
    'attributes, for the local service too',
    ['call', 'start', '--local', '-q'],
    (deep) => `{"start":{"project_id":"a/b","op_name":"x","attributes":{"x":${deep}}}}`,
    0,
  ],
];

describe.each(kinds)('%s 100 000 deep', (_, deep) => {
  it.each(bodies)('in %s are accepted or rejected', async (_name, args, body, code) => {
    const result = await svc(args, { stdin: body(deep), env: args.includes('--local') ? {} : env });
    expect(result.code, result.stderr.slice(0, 900)).toBe(code);
    if (args.includes('--dry-run') && code === 0) expect(result.stdout).toBe(body(deep));
  });

  it.each(['json', 'jsonl', 'text', 'table'])('in a response are printed as %s', async (format) => {
    for (const terminal of [true, false]) {
      const { send } = answering(`{"id":"i","trace_id":${deep},"paths":[{"path":${deep}}]}`);
      for (const args of [
        ['call', 'start', '--project-id', 'a/b', '--op-name', 'x'],
        ['feedback', 'schema', '--project-id', 'a/b', '--since', '1d'],
      ]) {
        const { code, stdout, stderr } = await svc([...args, '--format', format], { env, send, terminal });
        expect(code, stderr.slice(0, 900)).toBe(0);
        // On a terminal the cells of a table are shortened; the values of a single record take several lines.
        const shown = format === 'table' && terminal && args[0] === 'feedback' ? '…' : deep;
        expect(stripVTControlCharacters(stdout).replace(/\s/g, '')).toContain(shown);
      }
    }
  });
});
