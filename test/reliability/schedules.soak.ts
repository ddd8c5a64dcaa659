import { it } from 'vitest';
import { expectNoneMisjudged } from './schedules.ts';

it('judges 10 000 random fault schedules as the server knows them', () => expectNoneMisjudged(10_000, 2));
