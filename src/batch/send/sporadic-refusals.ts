/** How an attempt ended: `refusal` is a rate limit, `overload` any other sign of too many requests. */
type AttemptEnd = 'response' | 'refusal' | 'overload';

interface SporadicRefusalHooks {
  /** A trial begins or grows: so many requests may be in flight. */
  readonly onTrial: (limit: number) => void;
  /** The trial found that refusals depend on load; the limit before it was this one. */
  readonly onLoad: (limit: number) => void;
  /** The trial found that this share of requests is refused at any load. */
  readonly onSporadic: (share: number) => void;
}

// So many refusals, each after a response, within so many attempts are worth a trial with up to four times the limit.
const MIN_REFUSALS = 8;
const WINDOW_ATTEMPTS = 128;
const MAX_SHARE = 1 / 3;
const TRIAL_ATTEMPTS = 32;
const TRIAL_FACTOR = 4;
// A trial in which the requests in flight are fewer than allowed, most of the time, shows nothing.
const MAX_TRIAL_PART = 4;
// Refusals beyond the usual share and this part of the rest add up, until they are a sign of load.
const MAX_GROWTH = 1 / 8;
const TRIAL_EXCESS = 4;
// A trial begins with so much, so that two refusals in a row end it: those of a quota that is used up.
const FIRST_EXCESS = 2.5;
const LOAD_EXCESS = 8;
// The usual share is an estimate, which may be too small by this part of the rest.
const MAX_DOUBT = 1 / 16;
const SHARE_WEIGHT = 1 / 256;

/**
 * Finds refusals that do not depend on load (docs/internals/decisions/0067), by counts alone: smaller limits do not end them, and
 * a trial with more requests does not make them more frequent. From then on, only more than their share is a sign of load.
 */
export function createSporadicRefusals(max: number, { onTrial, onLoad, onSporadic }: SporadicRefusalHooks) {
  let window = createCounts();
  let trial: (Counts & { readonly before: number; readonly limit: number }) | undefined;
  let [share, foundShare, excess, failedTrials, attemptsToTrial] = [0, 0, 0, 0, 0];
  let lastEnd: AttemptEnd = 'response';
  const isExcess = (refusals: number, usualShare: number, most: number): boolean => {
    excess = Math.min(most + 1, Math.max(0, excess + refusals - grown(usualShare, MAX_GROWTH)));
    return excess > most;
  };
  const addToTrial = (counts: NonNullable<typeof trial>, end: AttemptEnd, limit: number, isFull: boolean): boolean => {
    const refusals = Number(end !== 'response');
    counts.refusals += refusals;
    counts.attempts += 1;
    if (isFull) counts.full += 1;
    const wanted = TRIAL_ATTEMPTS + counts.limit;
    const isMore = isExcess(refusals, window.refusals / window.attempts, TRIAL_EXCESS) || end === 'overload';
    const isLoad = isMore || counts.attempts > MAX_TRIAL_PART * wanted;
    if (!isLoad && counts.full < wanted) {
      // By one per response: a service that is full refuses few.
      if (end === 'response' && limit < counts.limit) onTrial(limit + 1);
      return false;
    }
    share = isLoad ? 0 : (window.refusals + counts.refusals) / (window.attempts + counts.attempts);
    [foundShare, excess, trial, window] = [share, 0, undefined, createCounts()];
    if (isLoad) attemptsToTrial = WINDOW_ATTEMPTS * 2 ** ++failedTrials;
    if (isLoad) onLoad(counts.before);
    else onSporadic(share);
    return isLoad;
  };
  // True as long as no more is refused than usual.
  const isUsual = (refusals: number): boolean => {
    const isMore = isExcess(refusals, share, LOAD_EXCESS);
    share = Math.min(grown(foundShare, MAX_DOUBT), share + SHARE_WEIGHT * (refusals - share));
    // The service refuses less: what it refuses may depend on load again.
    if (share < foundShare / 2) share = 0;
    return !isMore;
  };
  return {
    /** Counts an attempt with such a limit, which was full or not; false for one that says nothing about load. */
    isAboutLoad: (end: AttemptEnd, limit: number, isFull: boolean): boolean => {
      const isSingle = end === 'refusal' && lastEnd === 'response';
      lastEnd = end;
      if (trial) return addToTrial(trial, end, limit, isFull);
      if (end === 'overload') return true;
      if (share > 0 && isUsual(Number(end === 'refusal'))) return end === 'response';
      attemptsToTrial -= 1;
      if (window.attempts === WINDOW_ATTEMPTS) window = createCounts();
      window.attempts += 1;
      window.limits += limit;
      if (end === 'refusal') window.refusals += 1;
      if (isSingle) window.single += 1;
      if (!isSingle || attemptsToTrial > 0 || !isWorthTrial(window, max)) return true;
      const trialLimit = Math.min(max, Math.ceil((TRIAL_FACTOR * window.limits) / window.attempts));
      [trial, excess] = [{ ...createCounts(), before: limit, limit: trialLimit }, FIRST_EXCESS];
      onTrial(limit);
      return false;
    },
  };
}

// Refusals in a row are those of a quota that is used up; before a trial, a refusal uses up what a service allows at once.
function isWorthTrial({ attempts, limits, refusals, single }: Counts, max: number): boolean {
  const isSporadic = single >= Math.max(MIN_REFUSALS, refusals / 2) && refusals <= MAX_SHARE * attempts;
  return isSporadic && 2 * limits <= max * attempts;
}

type Counts = ReturnType<typeof createCounts>;

function createCounts() {
  return { attempts: 0, full: 0, limits: 0, refusals: 0, single: 0 };
}

function grown(share: number, part: number): number {
  return share + part * (1 - share);
}
