import { it } from 'vitest';
import { expectUnchanged } from './documents.ts';

it('10 000 generated documents reach the server byte for byte', () => expectUnchanged(10_000, 2));
