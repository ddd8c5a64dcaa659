import { readStdinChunks, readStdinChunksWithNotice } from '../../body/input-reader.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { Failure } from '../../errors.ts';
import { closestMatch } from '../../fields/closest-match.ts';
import { expandDirectories } from '../../train/stream/expand-directories.ts';
import { openTextSource } from '../../train/stream/open-text-source.ts';
import { createSpool } from '../../train/stream/spool.ts';
import type { TextSource } from '../../train/stream/text-source.ts';

/** The texts with trajectories that one command reads. */
export interface TrajectorySources {
  /** A file, or stdin for `-` and where nothing is named. */
  readonly open: (path?: string) => Promise<TextSource>;
  /** Some files and what is in some folders. */
  readonly openAll: (paths: readonly string[]) => Promise<readonly TextSource[]>;
  readonly close: () => Promise<void>;
}

/** No sources yet; `isSpooled`: what can be read once only is copied to the data folder. All of it throws Failure `local`. */
export function createTrajectorySources({ runtime, signal, report }: Context, isSpooled: boolean): TrajectorySources {
  const spool = isSpooled ? createSpool(dataDirectory(runtime)) : undefined;
  const opened: TextSource[] = [];
  const open: TrajectorySources['open'] = async (path) => {
    const stdin = (): AsyncIterable<Uint8Array> =>
      path === undefined ? readStdinChunksWithNotice(runtime, signal, report.note) : readStdinChunks(runtime, signal);
    const source = await openTextSource(path ?? '-', { cwd: runtime.cwd, stdin, spool });
    opened.push(source);
    return source;
  };
  return {
    open,
    openAll: async (paths) => {
      const sources: TextSource[] = [];
      try {
        for (const path of await expandDirectories(paths, runtime.cwd)) sources.push(await open(path));
      } catch (error) {
        throw withCommandHint(error, paths[0]);
      }
      return sources;
    },
    close: async () => {
      for (const source of opened) await source.close();
      await spool?.close();
    },
  };
}

// `svc train lnt x` takes lnt as a file: only a file that cannot be read shows that a command was meant.
function withCommandHint(error: unknown, path = ''): unknown {
  const suggestion = closestMatch(path, ['lint', 'log']);
  if (!(error instanceof Failure) || !suggestion || !error.message.includes(path)) return error;
  return new Failure(error.code, error.message, { hint: `did you mean: svc train ${suggestion}`, ...error.facts });
}
