import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type BodyFormat, bodyFormats } from '../../src/body/body-flags.ts';
import { svc, temporaryDirectory } from '../support/svc.ts';

const bodies: { readonly [format in BodyFormat]: string } = {
  JSON: '{"messages":[{"role":"user","content":"hi"}]}',
  YAML: 'messages: [{role: user, content: hi}]',
};

it.each(bodyFormats)('the suffix of a file says that it is $format', async ({ format, suffixes }) => {
  const cwd = temporaryDirectory();
  for (const name of suffixes.map((suffix) => `body${suffix}`)) {
    writeFileSync(join(cwd, name), bodies[format]);
    const { stdout, stderr } = await svc(['chat', '--local', '-f', name, '--dry-run'], { cwd });
    expect(stdout.replace(/\s/g, ''), stderr).toContain('"messages":[{"role":"user","content":"hi"}]');
  }
});
