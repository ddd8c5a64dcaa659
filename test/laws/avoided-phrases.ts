/** Phrases that svc does not use in its texts (CONTRIBUTING.md), and what to write in their place. */
export const avoidedPhrases: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\b(go|goes|going|gone|went) on with\b/i, 'continue, resume'],
  [/\bmend(ed|ing|s)?\b/i, 'fix'],
  [/\bpassing failures?\b/i, 'transient failure'],
  [/\b(is|are|was|were|be|been|being) told\b/i, 'printed, reported'],
  [/\btells? of\b|\btold of\b/i, 'report, list'],
  [/\bunder way\b/i, 'in flight, running'],
  [/\bblanks\b/i, 'spaces, whitespace'],
  [/\bbase address(es)?\b/i, 'base URL'],
  [/\bmay be given again\b/i, 'repeatable'],
  [/\b(is|are) there already\b|\bthere already\b/i, 'already exists'],
  [/\b(do|does|did) no harm\b/i, 'safe to retry'],
  [/\banew\b/i, 'again'],
  [/\bwhatever becomes\b|\bwhat (became|becomes) of\b/i, 'the result of'],
  [/\bis no (news|entry|reason|error|silence|JSON)\b/i, 'is not'],
  [/\b(a|an) (trajectory|group) a line\b/i, 'one trajectory per line'],
  [/\brequests a second\b/i, 'requests per second'],
];
