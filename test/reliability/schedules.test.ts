import { expect, it } from 'vitest';
import { expectNoneMisjudged, isAppliedBeforeLast, randomSchedules } from './schedules.ts';

it('reports the outcome of 200 random fault schedules as the server recorded it', () =>
  expectNoneMisjudged(randomSchedules(200, 1)));

it('reports the last attempt of a read, although the service responded to an earlier one', async () => {
  const schedules = randomSchedules(10_000, 2).filter(isAppliedBeforeLast);
  expect(schedules.length).toBeGreaterThanOrEqual(79);
  await expectNoneMisjudged(schedules);
});
