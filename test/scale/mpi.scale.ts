import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { inShell } from '../support/process.ts';
import { temporaryDirectory } from '../support/svc.ts';
import { expectComplete, prepareWorkplace, recipe } from './recipes.ts';

// As Debian names them; either can be `mpirun`.
const launchers = { 'Open MPI': 'mpirun.openmpi', MPICH: 'mpiexec.mpich' };

// More ranks than cores, as root, on this machine alone.
const settings = {
  OMPI_ALLOW_RUN_AS_ROOT: '1',
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
  OMPI_MCA_rmaps_base_oversubscribe: '1',
};

it.each(Object.entries(launchers))(
  'the recipe for MPI is complete with %s, also when it runs again',
  async (name, launcher) => {
    const path = spawnSync('sh', ['-c', `command -v ${launcher}`])
      .stdout.toString()
      .trim();
    if (!path) return void process.stderr.write(`skipped: ${name}; ${launcher} is not installed\n`);
    const workplace = await prepareWorkplace(400, 20);
    const bin = temporaryDirectory();
    writeFileSync(join(bin, 'mpirun'), `#!/bin/sh\nexec ${path} "$@"\n`, { mode: 0o755 });
    const env = { ...workplace.env, ...settings, PATH: `${bin}:${workplace.env.PATH}` };
    for (const _ of ['first', 'second']) {
      const { code, stderr } = await inShell(recipe('MPI'), { cwd: workplace.cwd, env });
      expect(code, stderr).toBe(0);
      expectComplete(workplace);
    }
    expect(workplace.processes().length).toBe(16);
    figure(`${name}: 400 lines on 8 ranks, twice: 0 lost, 0 twice`);
  },
);
