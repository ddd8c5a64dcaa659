import type { Prepared } from '../call/prepared.ts';
import type { Context } from '../cli/context.ts';
import { openSink } from '../output/sink.ts';
import type { Chosen } from '../profiles/resolve.ts';
import { showCurl } from './curl.ts';
import { showDryRun } from './dry-run.ts';
import type { Options } from './options.ts';

/** Shows a request instead of sending it, where a result would go: on stdout, or in the file of `-o`. */
export async function showRequest(
  prepared: Prepared,
  { show, format, output, files }: Options,
  { profile }: Chosen,
  { runtime, stdout, report }: Context,
): Promise<void> {
  const sink = await openSink(output, stdout, runtime.cwd);
  try {
    const named = { ...files, cacert: files.cacert || profile.cacert };
    if (show === 'curl') await showCurl(prepared, named, runtime.argv, sink.writer);
    else await showDryRun(prepared, format === 'json', sink.writer, report);
    await sink.commit();
  } catch (error) {
    await sink.abandon();
    throw error;
  }
}
