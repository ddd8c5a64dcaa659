import { getMember, type JsonNode } from '../json/json-node.ts';
import type { Reporter } from '../output/reporter.ts';
import { createSurrogateJoiner } from '../output/surrogate-joiner.ts';
import type { Writer } from '../output/writer.ts';
import {
  choiceHeading,
  choiceIndex,
  choicesByIndex,
  choiceText,
  completionChoices,
  contentText,
  ensureFinalNewline,
  reasoningText,
} from './chat-text.ts';

/** Prints a streamed chat as it arrives. */
export interface LiveTextPrinter {
  readonly show: (chunk: JsonNode) => Promise<void>;
  /** Ends the line. What was not printed yet follows from the whole response: tool calls, and further choices. */
  readonly end: (whole: JsonNode) => Promise<void>;
}

/** A printer of the choice that arrives first, with its reasoning on stderr; a character is never split. */
export function createLiveTextPrinter(writer: Writer, report: Reporter): LiveTextPrinter {
  const joiner = createSurrogateJoiner();
  let liveIndex: number | undefined;
  let lastText = '';
  const write = async (text: string): Promise<void> => {
    if (text === '') return;
    await report.endReasoning();
    await writer.write(text);
    lastText = text;
  };
  return {
    show: async (chunk) => {
      for (const choice of completionChoices(chunk)) {
        liveIndex ??= choiceIndex(choice);
        if (choiceIndex(choice) !== liveIndex) continue;
        const delta = getMember(choice, 'delta');
        await report.reasoning(reasoningText(delta));
        await write(joiner.push(contentText(delta)));
      }
    },
    end: async (whole) => {
      await write(joiner.flush());
      await report.endReasoning();
      if (lastText !== '' && !lastText.endsWith('\n')) await writer.write('\n');
      const choices = choicesByIndex(whole);
      for (const [at, choice] of choices.entries()) {
        if (choiceIndex(choice) === liveIndex && lastText !== '') continue;
        const heading = choices.length > 1 ? choiceHeading(at + 1) : '';
        await writer.write(heading + ensureFinalNewline(choiceText(getMember(choice, 'message'))));
      }
    },
  };
}
