import { it } from 'vitest';
import { expectWholeStream } from './pipes.ts';

it('100 MB of a stream pass through a slow pipe', () => expectWholeStream(100));
