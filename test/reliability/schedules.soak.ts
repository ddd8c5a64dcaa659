import { it } from 'vitest';
import { expectNoneMisjudged, randomSchedules } from './schedules.ts';

it('reports the outcome of 10,000 random fault schedules as the server recorded it', () =>
  expectNoneMisjudged(randomSchedules(10_000, 2)));
