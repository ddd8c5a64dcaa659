import { readStdinChunks, readStdinChunksWithNotice } from '../../body/input-reader.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
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
      for (const path of await expandDirectories(paths, runtime.cwd)) sources.push(await open(path));
      return sources;
    },
    close: async () => {
      for (const source of opened) await source.close();
      await spool?.close();
    },
  };
}
