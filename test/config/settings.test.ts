import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Setting, settingFlagName, settings } from '../../src/config/settings.ts';
import { svc } from '../support/svc.ts';

const source = new URL('../../src/', import.meta.url).pathname;
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(source, name), 'utf8') }));
const all: readonly Setting[] = settings;

describe('the table of settings', () => {
  it.each(['SVC_TIMEOUT', 'SVC_RETRIES', 'SVC_PROJECT_ID', 'SVC_MODEL', 'SVC_HISTORY', 'SVC_CHAT_BASE_URL'])(
    'is the only place in the source that reads %s',
    (variable) => {
      const code = files.filter(({ text }) => new RegExp(`['.]${variable}\\b`).test(text));
      expect(code.map(({ name }) => name)).toEqual(['config/settings.ts']);
    },
  );

  it('has one row for each name, flag and variable', () => {
    for (const values of [
      all.map(({ name }) => name),
      all.map(settingFlagName),
      all.flatMap(({ variable = [] }) => variable),
    ])
      expect(new Set(values).size).toBe(values.length);
  });

  it.each(all.flatMap(({ variable = [] }) => variable))('lists %s in svc help environment', async (variable) => {
    expect((await svc(['help', 'environment'])).stdout).toMatch(new RegExp(`^ *${variable} `, 'm'));
  });

  it.each(all.filter(({ flag }) => flag === 'requests' || flag === 'all'))(
    'gives requests the flag of $name',
    async (setting) => {
      const pages = await Promise.all(['connection', 'output'].map((topic) => svc(['help', topic])));
      expect(pages.map(({ stdout }) => stdout).join('')).toContain(`--${settingFlagName(setting)} `);
    },
  );

  it.each(all.filter(({ isStored, flag }) => isStored && flag))('lets svc profile set store $name', async (setting) => {
    expect((await svc(['profile', 'set', '--help'])).stdout).toContain(`--${settingFlagName(setting)} `);
  });
});
