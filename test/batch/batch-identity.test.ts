import { describe, expect, it } from 'vitest';
import { compareIdentities, compareStamps, formatStamp } from '../../src/batch/batch-identity.ts';

const runId = '01a1fd65-c7c7-7d58-a39c-000000000000';
const identityAt = (baseUrl: string) => ({ operation: '/x', shard: '1/1', baseUrl, values: {} });
const current = identityAt('https://a.example/v2/');

describe('a checkpoint', () => {
  it.each([
    ['the same base URL', 'https://a.example/v2/', 0],
    ['the origin alone, as older records have it', 'https://a.example', 0],
    ['another path', 'https://a.example/v1/', 1],
    ['no path', 'https://a.example/', 1],
    ['another host', 'https://b.example/v2/', 1],
    ['the origin of another host', 'https://b.example', 1],
  ])('with %s', (_, baseUrl, differences) => {
    const recorded = identityAt(baseUrl);
    expect(compareStamps([formatStamp(recorded, runId)], current, runId).acceptable).toHaveLength(differences);
    expect(compareIdentities(recorded, current).acceptable).toHaveLength(differences);
  });
});
