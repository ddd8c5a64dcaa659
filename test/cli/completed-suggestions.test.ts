import { expect, it } from 'vitest';
import { svc } from '../support/svc.ts';

// What was typed beside an unknown command is part of the next step, unless it does not fit or may be a secret.
it.each([
  ['chta hello -m m', 'svc chat hello -m m'],
  ['login https://x.test', 'svc auth login --base-url https://x.test'],
  ['login --base-url https://x.test', 'svc auth login --base-url https://x.test'],
  ['config set model gpt-4', 'svc profile set default --model gpt-4'],
  ['config set base_url https://x.test', 'svc profile set default --base-url https://x.test'],
  ['config set url=https://x.test', 'svc profile set default --base-url https://x.test'],
  ['config set project a/b', 'svc profile set default --project-id a/b'],
  ['profile model gpt-4', 'svc profile set default --model gpt-4'],
  ['config unset model', 'svc profile set default --model='],
  ['config get model', 'svc profile show'],
  ['config set api_key key-1', 'svc auth login --token-stdin'],
  ['config set password key-1', 'svc auth login --username <name> --password-stdin'],
  ['use work', 'svc profile use work'],
  ['profile add work', 'svc profile set work --base-url <url>'],
  ['profile delete work --yes', 'svc profile remove work --yes'],
  ['feedback create', 'svc feedback replace --new --call-id <id> --feedback-type <text> --score <x>'],
  ['feedback create -f x.json', 'svc feedback replace --new -f x.json'],
  ['jobs create x.jsonl', 'svc train x.jsonl --model-id <uuid>'],
  ['job get 1', 'svc train log'],
  ['files upload x.jsonl', 'svc train x.jsonl --model-id <uuid>'],
  ['batch x.jsonl', 'svc chat --batch x.jsonl -o out.jsonl'],
  ['batch resume o.jsonl', 'svc chat --batch <input> -o o.jsonl --resume'],
  ['trace make test', 'svc call run -- make test'],
  ['call exec -- make test', 'svc call run -- make test'],
  ['start call --op-name x', 'svc call start --op-name x'],
  ['log get 3', 'svc log show 3'],
  ['server 8080', 'svc serve --port 8080'],
  ['chta hello --unknown key-1', 'svc chat'],
  ['chta hello --header Authorization:key-1', "svc chat hello --header 'Authorization: [redacted]'"],
])('svc %s', async (typed, meant) => {
  const { code, stderr } = await svc(typed.split(' '));
  expect({ code, hint: stderr.split('\n').at(-2) }).toEqual({ code: 2, hint: `  did you mean: ${meant}` });
  expect(stderr).not.toContain('key-1');
});
