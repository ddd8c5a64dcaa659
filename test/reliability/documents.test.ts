import { it } from 'vitest';
import { expectUnchanged } from '../json/documents.ts';

it('500 generated documents reach the server byte for byte', () => expectUnchanged(500, 1));
