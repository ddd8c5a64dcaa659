import { describe, expect, it } from 'vitest';
import { answerJson, countingServer } from '../support/counting-server.ts';
import { inShell, start, waitForExit } from '../support/process.ts';

describe('a pipe as stdin that stays open without a byte', () => {
  const NOTICE =
    'svc: waiting on stdin for text to add to the prompt; nothing has arrived for 2 s; if there is none, add --no-stdin\n';
  const NOTHING =
    'svc: nothing arrived on stdin within 3 s; nothing was sent\n  svc waited for text to add to the prompt; if there is none, add --no-stdin; to wait without a time limit, add --stdin\n';

  // The shell itself keeps the pipe open.
  it.each([
    ['--timeout 3', NOTICE + NOTHING],
    ['--timeout 3 -q', NOTHING],
  ])('svc chat hi %s ends with exit 2, and a server saw nothing', async (flags, stderr) => {
    const server = await countingServer(String, (_, response) => answerJson(response, {}));
    const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'tok-en-1' };
    const result = await inShell(`mkfifo open; exec 3<> open; svc chat hi ${flags} < open`, { env });
    expect(result).toEqual({ code: 2, signal: null, stdout: '', stderr });
    expect(server.counts.size).toBe(0);
  });

  it('a line on stderr after 2 s says what svc waits for; text that arrives then is sent', async () => {
    const child = start(['chat', '--local', 'Sum up']);
    const result = waitForExit(child);
    child.stderr?.once('data', () => child.stdin?.end('slow'));
    const { code, stdout, stderr } = await result;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^svc: waiting on stdin for text/) });
    expect(stdout).toContain('received: Sum up slow');
  });

  it.each(['--no-stdin', '--dry-run --no-stdin'])('%s does not wait', async (flags) => {
    const result = await inShell(`mkfifo open; exec 3<> open; svc chat --local hi -q ${flags} < open`);
    expect(result).toMatchObject({ code: 0, stderr: '' });
  });
});
