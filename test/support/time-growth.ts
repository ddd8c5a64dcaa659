const RUNS = 3;
// Below it, the clock and the garbage collector decide.
const MIN_MICROSECONDS = 1000;

/** A growth that no linear work reaches, and all quadratic work exceeds. */
export const QUADRATIC_GROWTH = 40;

/** How many times more processor time a tenfold size needs: about 10 at most where the work is linear, 100 where it is quadratic. */
export async function timeGrowth(run: (size: number) => unknown): Promise<number> {
  return (await processorTime(run, 100_000)) / Math.max(await processorTime(run, 10_000), MIN_MICROSECONDS);
}

async function processorTime(run: (size: number) => unknown, size: number): Promise<number> {
  const times: number[] = [];
  while (times.length < RUNS) {
    const start = process.cpuUsage();
    await run(size);
    const { user, system } = process.cpuUsage(start);
    times.push(user + system);
  }
  return Math.min(...times);
}
