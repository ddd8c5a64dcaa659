import { stdinPieces, unnamedPieces } from '../../body/inputs.ts';
import type { Context } from '../../cli/context.ts';
import { dataFolder } from '../../profiles/folders.ts';
import { filesOf } from '../../trajectories/folder.ts';
import { openSource } from '../../trajectories/open.ts';
import type { TextSource } from '../../trajectories/source.ts';
import { newSpool } from '../../trajectories/spool.ts';

/** The texts with trajectories that one command reads. */
export interface Sources {
  /** A file, or stdin for `-` and where nothing is named. */
  readonly open: (path?: string) => Promise<TextSource>;
  /** Some files and what is in some folders. */
  readonly openAll: (paths: readonly string[]) => Promise<readonly TextSource[]>;
  readonly close: () => Promise<void>;
}

/** No sources yet; `isSpooled`: what can be read once only is copied to the data folder. All of it throws Failure `local`. */
export function sourcesOf({ runtime, signal, report }: Context, isSpooled: boolean): Sources {
  const spool = isSpooled ? newSpool(dataFolder(runtime)) : undefined;
  const opened: TextSource[] = [];
  const open: Sources['open'] = async (path) => {
    const stdin = (): AsyncIterable<Uint8Array> =>
      path === undefined ? unnamedPieces(runtime, signal, report.note) : stdinPieces(runtime, signal);
    const source = await openSource(path ?? '-', { cwd: runtime.cwd, stdin, spool });
    opened.push(source);
    return source;
  };
  return {
    open,
    openAll: async (paths) => {
      const sources: TextSource[] = [];
      for (const path of await filesOf(paths, runtime.cwd)) sources.push(await open(path));
      return sources;
    },
    close: async () => {
      for (const source of opened) await source.close();
      await spool?.close();
    },
  };
}
