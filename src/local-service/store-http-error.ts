import { errorCode } from '../files/file-errors.ts';
import { HttpError } from './http-error.ts';
import { StoreUnavailable } from './store/store-unavailable.ts';

const RETRY_AFTER_SECONDS = 1;
const DISK_FULL_CODES: readonly (string | undefined)[] = ['ENOSPC', 'EDQUOT'];

/** The response to a request whose data could not be stored: 503 where a retry may help, 507 for a full disk. */
export function storeHttpError(error: unknown): HttpError | undefined {
  if (DISK_FULL_CODES.includes(errorCode(error))) return new HttpError(507, 'the disk of the service is full');
  if (!(error instanceof StoreUnavailable)) return undefined;
  if (error.reason === 'full') return new HttpError(507, error.message);
  return new HttpError(503, error.message, [['Retry-After', String(RETRY_AFTER_SECONDS)]]);
}
