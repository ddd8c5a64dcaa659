import type { OperationOptions } from '../../client/operation-options.ts';
import type { PreparedRequest } from '../../client/prepared-request.ts';
import type { SelectedProfile } from '../../config/select-profile.ts';
import type { Context } from '../../context.ts';
import { openSink } from '../../output/sink.ts';
import { showCurl } from './show-curl.ts';
import { showDryRun } from './show-dry-run.ts';

/** Shows a request instead of sending it, where a result would go: on stdout, or in the file of `-o`. */
export async function showRequest(
  prepared: PreparedRequest,
  { previewFormat, format, output, certificateFiles }: OperationOptions,
  { profile }: SelectedProfile,
  { runtime, stdout, report }: Context,
): Promise<void> {
  const sink = await openSink(output, stdout, runtime.cwd);
  try {
    const trustFiles = { ...certificateFiles, cacert: certificateFiles.cacert || profile.cacert };
    if (previewFormat === 'curl') await showCurl(prepared, trustFiles, runtime.argv, sink.writer);
    else await showDryRun(prepared, format === 'json', sink.writer, report);
    await sink.commit();
  } catch (error) {
    await sink.abandon();
    throw error;
  }
}
