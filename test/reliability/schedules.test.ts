import { it } from 'vitest';
import { expectNoneMisjudged } from './schedules.ts';

it('reports the outcome of 200 random fault schedules as the server recorded it', () => expectNoneMisjudged(200, 1));
