import { it } from 'vitest';
import { expectNoneMisjudged } from './schedules.ts';

it('judges 200 random fault schedules as the server knows them', () => expectNoneMisjudged(200, 1));
