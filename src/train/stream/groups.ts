import { Buffer } from 'node:buffer';
import type { LabeledBytes } from '../../body/input-reader.ts';
import { usageFailure } from '../../errors.ts';
import { COMMA, LINE_FEED } from '../../json/json-bytes.ts';
import { type JsonPath, parseJsonPath } from '../../json/json-node.ts';
import { createTrajectoryChecks, type TrajectoryChecks } from './checks.ts';
import { readTrajectories, type TextForm, type TrajectoryEvent } from './reader.ts';
import type { TextSource } from './source.ts';
import { createEnvelope, InvalidTextError } from './text-position.ts';
import { createChunkBatcher, SENDABLE_BUFFERS } from './upload.ts';

/** The trajectories of a body, parsed and checked while they are first read; then their byte ranges are read again as they are. */
export interface TrajectoryContent {
  readonly sources: readonly TextSource[];
  readonly checks: TrajectoryChecks;
  /** Reads and checks everything. Yields the bytes of the group array, unless `isReordered`; the checks get syntax errors. */
  readonly readFirst: () => AsyncIterable<Uint8Array>;
  /** The bytes between the brackets of a group array (usually 0, the only one), once everything was read. */
  readonly rereadArray: (arrayIndex: number) => AsyncIterable<Uint8Array>;
  /** `readFirst` does not yield the group array: the order is known only when everything was read. */
  readonly isReordered: boolean;
  /** True for files that have only white space, once everything was read. */
  readonly isBlank?: () => boolean;
}

/** The groups in some files in order; with a path, groups of the single trajectories in them, by the value there. */
export function filesContent(sources: readonly TextSource[], path: JsonPath | undefined): TrajectoryContent {
  const checks = createTrajectoryChecks(path);
  const ranges = createRangeLists(path && checks.assignedGroup);
  let isBlank = true;
  const watchText = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      isBlank &&= /^(?:\xef\xbb\xbf)?[ \t\r\n]*$/.test(Buffer.from(chunk).toString('latin1'));
      yield chunk;
    }
  };
  return {
    sources,
    checks,
    isReordered: path !== undefined,
    isBlank: () => isBlank,
    readFirst: async function* () {
      let isFirst = true;
      for (const [index, source] of sources.entries())
        yield* readCheckedChunks(source.label, watchText(source.readFirst()), 'groups', checks, (event) => {
          ranges.add(event, index);
          if (path) return [];
          if (event.kind !== 'group') return 'bytes' in event ? [event.bytes] : [];
          const separator = isFirst ? [] : [comma];
          isFirst = false;
          return separator;
        });
    },
    rereadArray: () =>
      path ? readGroups(sources, ranges.rangesOf, checks.groupCount()) : readInOrder(sources, ranges.rangesOf),
  };
}

export function parseGroupByPath(text: string | undefined): JsonPath | undefined {
  const path = text === undefined ? undefined : parseJsonPath(text);
  if (text === undefined || path) return path;
  throw usageFailure(`--group-by: ${JSON.stringify(text)} is not a valid path`, 'write a path such as metadata.task');
}

/** The groups of a whole body. `readFirst` yields the complete body; `envelope` is the rest, with the first error in it. */
export function bodyContent(source: TextSource): TrajectoryContent & { readonly envelope: () => LabeledBytes } {
  const checks = createTrajectoryChecks(undefined);
  return {
    sources: [source],
    checks,
    isReordered: false,
    readFirst: () =>
      readCheckedChunks(source.label, source.readFirst(), 'body', checks, (event) =>
        'bytes' in event ? [event.bytes] : [],
      ),
    rereadArray: async function* (arrayIndex) {
      const before = checks.bodyParts[arrayIndex];
      const after = checks.bodyParts[arrayIndex + 1];
      if (!before || !after) return;
      const batcher = createChunkBatcher(SENDABLE_BUFFERS);
      for await (const chunk of source.readAgain(before.location.offset + before.bytes.length, after.location.offset))
        yield* batcher([chunk]);
    },
    envelope: () => {
      const { bytes, locationAt, parse } = createEnvelope(checks.bodyParts);
      try {
        parse();
      } catch (error) {
        if (!(error instanceof InvalidTextError)) throw error;
        checks.addReadError(error, source.label, '');
      }
      const [issue] = checks.structureErrors();
      return { label: source.label, bytes, position: locationAt, issue };
    },
  };
}

// Passes every event to the checks, and yields the bytes of it that are sent. A syntax error ends the source.
async function* readCheckedChunks(
  label: string,
  chunks: AsyncIterable<Uint8Array>,
  form: TextForm,
  checks: TrajectoryChecks,
  select: (event: TrajectoryEvent) => readonly Uint8Array[],
): AsyncGenerator<Uint8Array> {
  const batcher = createChunkBatcher();
  const checkAndSelect = function* (events: Iterable<TrajectoryEvent>): Generator<Uint8Array> {
    for (const event of events) {
      checks.checkEvent(event, label);
      yield* select(event);
    }
  };
  try {
    for await (const events of readTrajectories(chunks, form)) yield* batcher(checkAndSelect(events));
  } catch (error) {
    if (!(error instanceof InvalidTextError)) throw error;
    checks.addReadError(error, label, form === 'body' ? '' : 'trajectory_groups');
  }
}

const comma = Buffer.from(',');
const groupOpen = Buffer.from('{"trajectories":[');
const groupClose = Buffer.from(']}');

// The sources in order; all of each is read, because many small ranges would take longer.
async function* readInOrder(sources: readonly TextSource[], rangesOf: RangeReader): AsyncGenerator<Uint8Array> {
  const batcher = createChunkBatcher(SENDABLE_BUFFERS);
  let isFirst = true;
  for (const [index, source] of sources.entries()) {
    const ranges = rangesOf(index);
    let next = ranges.next();
    let offset = 0;
    const cutRanges = function* (chunk: Uint8Array): Generator<Uint8Array> {
      const chunkEnd = offset + chunk.length;
      while (!next.done && next.value.start < chunkEnd) {
        const { start, end, isLines } = next.value;
        if (start >= offset && !isFirst) yield comma;
        isFirst = false;
        const part = chunk.subarray(Math.max(0, start - offset), end - offset);
        yield isLines ? separateByCommas(part) : part;
        if (end > chunkEnd) break;
        next = ranges.next();
      }
      offset = chunkEnd;
    };
    for await (const chunk of source.readAgain()) yield* batcher(cutRanges(chunk));
  }
}

async function* readGroups(
  sources: readonly TextSource[],
  rangesOf: RangeReader,
  groupCount: number,
): AsyncGenerator<Uint8Array> {
  const batcher = createChunkBatcher(SENDABLE_BUFFERS);
  for (let group = 0; group < groupCount; group += 1) {
    let separator = group === 0 ? groupOpen : Buffer.concat([comma, groupOpen]);
    for (const { source, start, end, isLines } of rangesOf(group)) {
      yield separator;
      separator = comma;
      for await (const chunk of sources[source]?.readAgain(start, end) ?? [])
        yield* batcher([isLines ? separateByCommas(chunk) : chunk]);
    }
    yield groupClose;
  }
}

// Replaces line feeds in place: the bytes of a source are those of its reader until the next chunk.
function separateByCommas(lines: Uint8Array): Uint8Array {
  for (let at = lines.indexOf(LINE_FEED); at !== -1; at = lines.indexOf(LINE_FEED, at + 1)) lines[at] = COMMA;
  return lines;
}

type RangeReader = ReturnType<typeof createRangeLists>['rangesOf'];

// The values of each group, or of each source, whose numbers are those of lists. A range, which takes 28 bytes of memory, is
// one value, or (`isLines`) several that are one line each and separated only by line feeds.
function createRangeLists(lastGroup: (() => number | undefined) | undefined) {
  // For each range: its bounds, its source, the next range of its list, and whether it has several lines. For each list: its
  // first and last range. Ranges count from 1 here, because a new array is filled with zeros.
  let bounds = new Float64Array(2048);
  let links = new Int32Array(3072);
  let lists = new Int32Array(2048);
  let rangeCount = 0;
  let value = { start: 0, end: 0, line: 0, isLine: true };
  let last = { list: -1, source: -1, end: 0, line: 0 };
  const addValue = (list: number, source: number): void => {
    const { start, end, line, isLine } = value;
    const isNextLine =
      isLine && last.list === list && last.source === source && start === last.end + 1 && line === last.line + 1;
    last = { list: isLine ? list : -1, source, end, line };
    if (isNextLine) {
      bounds[rangeCount * 2 - 1] = end;
      links[rangeCount * 3 - 1] = 1;
      return;
    }
    if (rangeCount * 2 === bounds.length) {
      bounds = enlarge(bounds, new Float64Array(bounds.length * 2));
      links = enlarge(links, new Int32Array(links.length * 2));
    }
    if (list * 2 >= lists.length) lists = enlarge(lists, new Int32Array(list * 4));
    bounds.set([start, end], rangeCount * 2);
    links[rangeCount * 3] = source;
    rangeCount += 1;
    const previous = lists[list * 2 + 1] ?? 0;
    if (previous === 0) lists[list * 2] = rangeCount;
    else links[previous * 3 - 2] = rangeCount;
    lists[list * 2 + 1] = rangeCount;
  };
  return {
    add: (event: TrajectoryEvent, source: number): void => {
      const isAlone = event.kind === 'trajectory' && event.container !== 'in a group';
      if (event.kind === 'group' || isAlone) {
        const { offset, line } = event.location;
        value = { start: offset, end: offset, line, isLine: true };
      }
      if ('bytes' in event) {
        value.end += event.bytes.length;
        value.isLine &&= !event.bytes.includes(LINE_FEED);
      }
      const list = lastGroup ? lastGroup() : source;
      if ((event.kind === 'end' || isAlone) && list !== undefined) addValue(list, source);
    },
    rangesOf: function* (list: number) {
      for (let range = lists[list * 2] ?? 0; range !== 0; range = links[range * 3 - 2] ?? 0) {
        const [start = 0, end = 0] = [bounds[range * 2 - 2], bounds[range * 2 - 1]];
        yield { source: links[range * 3 - 3] ?? 0, start, end, isLines: links[range * 3 - 1] === 1 };
      }
    },
  };
}

function enlarge<T extends Float64Array | Int32Array>(values: T, larger: T): T {
  larger.set(values);
  return larger;
}
