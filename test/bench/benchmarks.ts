import type { BenchContext } from './bench-context.ts';
import type { Benchmark } from './comparison.ts';
import type { Peer } from './peer.ts';

const ON_NODE_20 = process.versions.node.startsWith('20.');

/** The benchmarks of single commands. */
export function benchmarks({ url, peer, node, svc, script, installed }: BenchContext): Benchmark[] {
  const bare = node('node -e 0', '-e', '0');
  const untilOutput = (one: Peer): Peer => ({ ...one, until: 'output' });
  const call = `${url}/call/start`;
  const chat = `${url}/v1/chat/completions`;
  const start = svc('call', 'start', '--project-id', 'a/b', '--op-name', 'x');
  const json = 'Content-Type: application/json';
  return [
    {
      name: 'start-up',
      peers: [bare, svc('--version'), svc('--help'), svc('chat', '--help'), svc('completion', 'bash')],
      aims: [
        { peer: 'svc --version', to: bare.name, most: 1.1 },
        { peer: 'svc --help', to: bare.name, most: 1.25 },
      ],
    },
    {
      name: 'one POST',
      peers: [
        node('node:http', script('post.cjs'), call),
        start,
        bare,
        ...installed('curl', peer('curl', 'curl', '-sS', '-H', json, '-d', '{"start":{}}', call)),
        ...installed('http', peer('HTTPie', 'http', '--ignore-stdin', '--body', 'POST', call, 'start:={}')),
      ],
      aims: [
        { peer: start.name, to: 'node:http', most: ON_NODE_20 ? 1.5 : 2 },
        { peer: start.name, to: 'HTTPie', most: 0.6 },
      ],
    },
    {
      name: 'one operation of the local service',
      peers: [bare, { ...start, name: `${start.name} --local`, command: [...start.command, '--local'] }],
      aims: [],
    },
    {
      name: 'completion of a flag',
      peers: [bare, svc('__complete', 'chat', '--m'), svc('__complete', 'chat', '--model', '')],
      aims: [
        { peer: 'svc __complete chat --m', to: bare.name, most: 2 },
        { peer: 'svc __complete chat --model ', to: bare.name, most: 2 },
      ],
    },
    {
      name: 'first token of a streamed chat',
      peers: [
        untilOutput(node('undici reader', script('reader.js'), chat, 'one')),
        untilOutput({ ...svc('chat', 'hi', '--stream', '-m', 'one'), name: 'svc chat' }),
      ],
      aims: [{ peer: 'svc chat', to: 'undici reader', most: 1.15 }],
    },
    {
      name: 'a stream of 50,000 chunks',
      peers: [
        node('undici reader', script('reader.js'), chat, 'many'),
        { ...svc('chat', 'hi', '--stream', '-m', 'many'), name: 'svc chat' },
      ],
      aims: [],
    },
  ];
}
