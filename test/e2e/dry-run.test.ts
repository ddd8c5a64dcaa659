import { describe, expect, it } from 'vitest';
import { inShell } from '../support/process.ts';

const shown = 'svc chat hi --no-stdin --dry-run';
const header = 'Authorization: Bearer [redacted]';
const login = 'echo tok-en-1 | svc auth login --base-url https://a.test --token-stdin -q && ';

describe('the Authorization header of --dry-run', () => {
  it.each([
    ['without credentials', `${shown} --base-url https://a.test`],
    ['without credentials and URL', shown],
    [
      'with the credentials of another scheme',
      `SVC_USERNAME=u SVC_PASSWORD=pass-word ${shown} --base-url https://a.test`,
    ],
    ['with half of the credentials', 'SVC_USERNAME=u svc feedback schema --project-id a/b --since 7d --dry-run'],
    ['with the credentials of another origin', `${login}${shown} --base-url https://b.test`],
    ['for the local service', `SVC_TOKEN=tok-en-1 ${shown} --local`],
  ])('is absent %s', async (_, line) => {
    for (const format of ['', ' --json']) {
      const { code, stdout, stderr } = await inShell(line + format);
      expect(code, stderr).toBe(0);
      expect(stdout + stderr).toMatch(/User-Agent/);
      expect(stdout + stderr).not.toMatch(/authorization/i);
    }
  });

  it.each([
    ['of the environment', `SVC_TOKEN=tok-en-1 ${shown} --base-url https://a.test`],
    ['of the environment without a URL', `SVC_TOKEN=tok-en-1 ${shown}`],
    ['of the profile', login + shown],
  ])('is redacted with the credentials %s', async (_, line) => {
    const { code, stderr } = await inShell(line);
    expect(code, stderr).toBe(0);
    expect(stderr.split('\n')).toContain(header);
    expect(stderr).not.toContain('tok-en-1');
  });
});
