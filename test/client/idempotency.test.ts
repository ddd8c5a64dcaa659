import { expect, it } from 'vitest';
import { createDraft } from '../../src/body/draft.ts';
import { prepareRequest } from '../../src/client/request.ts';
import { callStartOperation } from '../../src/operations/call-start.ts';
import { feedbackReplaceOperation } from '../../src/operations/feedback-replace.ts';

const operations = { 'feedback replace': feedbackReplaceOperation, 'call start': callStartOperation };

it.each([
  ['feedback replace', '{"feedback_id":"f","id":"f"}', 'keyed'],
  ['feedback replace', '{"feedback_id":"f","id":"r"}', 'once'],
  ['feedback replace', '{"feedback_id":"f","id":""}', 'once'],
  ['feedback replace', '{"feedback_id":"f","id":null}', 'once'],
  ['feedback replace', '{"feedback_id":"f"}', 'once'],
  ['call start', '{"start":{"id":"c","trace_id":"t"}}', 'keyed'],
  ['call start', '{"start":{"id":"","trace_id":"t"}}', 'once'],
  ['call start', '{"start":{"id":"c","trace_id":""}}', 'once'],
] as const)('%s with %s is %s', (command, body, effect) => {
  const { ids, effect: found } = prepareRequest({ operation: operations[command], headers: [] }, createDraft(body));
  expect(found).toBe(effect);
  expect(Object.values(ids)).not.toContain('');
});
