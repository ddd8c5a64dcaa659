import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerJson, countingServer } from './counting-server.ts';
import { type Finished, run } from './process.ts';
import { temporaryDirectory } from './svc.ts';

interface FileRun extends Finished {
  readonly bodies: string[];
  readonly cwd: string;
  readonly again: (args: readonly string[]) => Promise<Finished>;
}

/** Runs the built program on files, and returns also the bodies that it sent, in order; `again` runs it on the same service. */
export async function runOnFiles(
  files: Readonly<Record<string, string | Uint8Array>>,
  args: readonly string[],
): Promise<FileRun> {
  const cwd = temporaryDirectory();
  const bodies: string[] = [];
  const server = await countingServer(String, ({ text }, response, { url = '' }) => {
    bodies.push(text);
    const { start } = JSON.parse(text);
    const message = { role: 'assistant', content: 'ok' };
    const chat = { id: 'c', object: 'chat.completion', created: 1, model: 'm' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    if (url.includes('chat')) answerJson(response, { ...chat, choices });
    else answerJson(response, { id: start?.id ?? 'f', trace_id: start?.trace_id });
  });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  const secrets = { SVC_USERNAME: 'api', SVC_PASSWORD: 'pass-word-1', SVC_TOKEN: 'tok-en-1' };
  const env = { ...secrets, SVC_BASE_URL: server.url, SVC_PROJECT_ID: 'a/b', SVC_MODEL: 'm' };
  const again: FileRun['again'] = (words) => run(words, { cwd, env });
  return { ...(await again(args)), bodies, cwd, again };
}
