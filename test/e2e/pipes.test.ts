import { it } from 'vitest';
import { expectWholeAnswer, expectWholeStream } from './pipes.ts';

it('10 MB of a stream pass through a slow pipe', () => expectWholeStream(10));
it('30 MB of a response pass through a slow pipe', () => expectWholeAnswer(30));
