import { limitInputTime, readStdinChunks } from '../../body/input-reader.ts';
import { isYamlFile } from '../../body/json-source.ts';
import { dataDirectory } from '../../config/directories.ts';
import type { Context } from '../../context.ts';
import { Failure } from '../../errors.ts';
import { noDeadline } from '../../http/deadline.ts';
import { expandDirectories } from '../../train/stream/expand-directories.ts';
import { openTextSource } from '../../train/stream/open-text-source.ts';
import { createSpool } from '../../train/stream/spool.ts';
import type { TextSource } from '../../train/stream/text-source.ts';

/** Opens and closes the input files of a command. */
export interface TrajectorySources {
  /** Opens a file; stdin for `-` or without a path. */
  readonly open: (path?: string) => Promise<TextSource>;
  /** Opens files, and the files of directories. */
  readonly openAll: (paths: readonly string[]) => Promise<readonly TextSource[]>;
  readonly close: () => Promise<void>;
}

/**
 * `isSpooled`: input that can be read only once is copied to the data directory. The deadline holds for all of those
 * inputs. All functions throw Failure `local`, and `body` for a YAML file.
 */
export function createTrajectorySources(
  context: Context,
  isSpooled: boolean,
  deadline = noDeadline,
): TrajectorySources {
  const { runtime } = context;
  const spool = isSpooled ? createSpool(dataDirectory(runtime)) : undefined;
  const opened: TextSource[] = [];
  const timers: (() => void)[] = [];
  const open: TrajectorySources['open'] = async (path) => {
    const { signal, cancel } = limitInputTime(path ?? '-', context.signal, runtime, deadline);
    timers.push(cancel);
    const stdin = (): AsyncIterable<Uint8Array> =>
      readStdinChunks(context, deadline, path === undefined ? 'a JSON body' : undefined);
    const source = await openTextSource(path ?? '-', { cwd: runtime.cwd, stdin, spool, signal });
    opened.push(source);
    if (isYamlFile(source.label))
      throw new Failure('body', `${source.label}: trajectories are JSON, not YAML`, {
        hint: `convert the file to JSON; if it is a whole body, run: svc train -f ${source.label}`,
        applied: 'no',
      });
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
      for (const cancel of timers) cancel();
      for (const source of opened) await source.close();
      await spool?.close();
    },
  };
}
