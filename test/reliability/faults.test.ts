import { describe, expect, it } from 'vitest';
import { closedPort, faultServer } from '../support/faults.ts';
import { cases, success } from './faults.ts';
import { judge, operations, run } from './run.ts';

const tried = operations.flatMap((operation) => [0, 3].map((retries) => ({ operation, retries })));

describe.each(tried)('$operation.name with --retries $retries', ({ operation, retries }) => {
  it.each(cases)('$name', async (fault) => {
    const server = await faultServer();
    // Whether the request left before the connection was closed depends on who was faster.
    const isRace = fault.at === 'connect' || (operation.isStreamed && fault.code === 8 && fault.at !== 'request');
    // A service may have deleted the old record before it refused the new one (docs/internals/servers.md).
    const isReplaced = operation.name.startsWith('feedback replace') && fault.name.startsWith('503');
    const codes = isRace ? [7, 8] : [isReplaced ? 6 : fault.code];
    const most = fault.repeats.includes(operation.effect) ? retries : 0;
    const allowed = fault.at === 'connect' ? [1 + most, 1 + retries] : [1 + most];

    server.follow([fault]);
    const always = await run(operation, server.url, retries, fault);
    expect(allowed).toContain(server.connections());
    expect(codes).toContain(always.code);
    expect(always.attempts).toBe(server.connections());
    judge(always, server, operation.effect);

    server.follow([fault, success]);
    const once = await run(operation, server.url, retries, fault);
    expect(most > 0 ? [0] : fault.at === 'connect' ? [0, ...codes] : codes).toContain(once.code);
    expect(server.connections()).toBe(once.code === 0 ? 2 : 1);
    judge(once, server, operation.effect);
  });

  it('connection refused', async () => {
    const refused = await run(operation, await closedPort(), retries, success);
    expect(refused).toMatchObject({ code: 7, applied: 'no', attempts: 1 + retries });
  });
});
