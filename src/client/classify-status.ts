import type { AppliedState, FailureCode } from '../errors.ts';

/** Classifies a status: its failure code (none for 2xx), and whether the request was applied (docs/contract.md, section 6). */
export function classifyStatus(
  status: number,
  hasRetryAfter: boolean,
): { readonly code: FailureCode | undefined; readonly applied: AppliedState } {
  if (status >= 200 && status < 300) return { code: undefined, applied: 'yes' };
  if (status === 401 || status === 403) return { code: 'credentials', applied: 'no' };
  if (status === 408 || status === 421 || status === 425 || status === 429) return { code: 'limited', applied: 'no' };
  if (status === 503 && hasRetryAfter) return { code: 'limited', applied: 'no' };
  if (status === 502 || status === 504 || (status >= 520 && status < 530))
    return { code: 'unknown', applied: 'unknown' };
  if (status >= 500) return { code: 'failed', applied: 'unknown' };
  return { code: 'refused', applied: 'no' };
}
