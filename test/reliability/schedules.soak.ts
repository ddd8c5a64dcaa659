import { it } from 'vitest';
import { expectNoneMisjudged } from './schedules.ts';

it('reports the outcome of 10,000 random fault schedules as the server recorded it', () =>
  expectNoneMisjudged(10_000, 2));
