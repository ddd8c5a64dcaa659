import type { Runtime } from '../runtime.ts';

const SPINNER_DELAY_MS = 150;
const LINE_INTERVAL_MS = 30_000;

/** True if CI is set, unless to `0`, `false`, `no` or `off`. */
export function isCi({ CI = '' }: Runtime['env']): boolean {
  return !/^(?:0|false|no|off)?$/i.test(CI);
}

/** Shows a spinner on stderr after 150 ms, with a text that may change; where stderr cannot draw it, notes the text every 30 s. `clear` removes it until the next frame. */
export function startDelayedSpinner(
  { stderr, after, env }: Runtime,
  text: string | (() => string),
  note: (line: string) => void,
) {
  let cancel = (): void => {};
  let spinner: { readonly clear: () => unknown; readonly stop: () => unknown } | undefined;
  let isStopped = false;
  // Without a width, each frame would be a new line.
  if (stderr.isTTY !== true || !stderr.columns || env.TERM === 'dumb' || isCi(env)) {
    const scheduleLine = (): void => {
      cancel = after(LINE_INTERVAL_MS, () => {
        const line = typeof text === 'string' ? text : text();
        if (line !== '') note(line);
        scheduleLine();
      });
    };
    scheduleLine();
  } else
    cancel = after(SPINNER_DELAY_MS, async () => {
      const { default: ora } = await import('ora');
      if (isStopped) return;
      const textOptions = typeof text === 'string' ? { text } : { suffixText: text };
      // The spinner must not touch stdin or the exit of the process.
      spinner = ora({
        stream: stderr,
        ...textOptions,
        discardStdin: false,
        hideCursor: false,
        isEnabled: true,
      }).start();
    });
  return {
    clear: (): void => void spinner?.clear(),
    stop: (): void => {
      isStopped = true;
      cancel();
      spinner?.stop();
    },
  };
}
