import { describe, expect, it } from 'vitest';
import { closedPort, faultServer } from '../support/faults.ts';
import { cases, success } from './faults.ts';
import { judge, operations, run } from './run.ts';

const tried = operations.flatMap((operation) => [0, 3].map((retries) => ({ operation, retries })));

describe.each(tried)('$operation.name with --retries $retries', ({ operation, retries }) => {
  it.each(cases)('$name', async (fault) => {
    const server = await faultServer();
    const codes = operation.isStreamed && fault.code === 8 && fault.at !== 'request' ? [7, 8] : [fault.code];
    const most = fault.repeats.includes(operation.effect) ? retries : 0;

    server.follow([fault]);
    const always = await run(operation, server.url, retries, fault);
    expect(server.connections()).toBe(1 + most);
    expect(codes).toContain(always.code);
    expect(always.attempts).toBe(1 + most);
    judge(always, server.applied, operation.effect);

    server.follow([fault, success]);
    const once = await run(operation, server.url, retries, fault);
    expect(most > 0 ? [0] : codes).toContain(once.code);
    expect(server.connections()).toBe(most > 0 ? 2 : 1);
    judge(once, server.applied, operation.effect);
  });

  it('nothing listens', async () => {
    const refused = await run(operation, await closedPort(), retries, success);
    expect(refused).toMatchObject({ code: 7, applied: 'no', attempts: 1 + retries });
  });
});
