import { errorCode } from '../files/file-errors.ts';
import { HttpError } from './http-error.ts';
import { StoreError } from './store/store-error.ts';

const RETRY_AFTER_SECONDS = 1;
const DISK_FULL_CODES: readonly (string | undefined)[] = ['ENOSPC', 'EDQUOT'];

/** The error of a request whose data could not be stored: 503 where a retry may help, 507 for a full disk. */
export function storeHttpError(error: unknown): HttpError | undefined {
  if (DISK_FULL_CODES.includes(errorCode(error))) return new HttpError(507, 'the disk of the service is full');
  if (!(error instanceof StoreError)) return undefined;
  switch (error.reason) {
    case 'unsupported':
      return new HttpError(400, error.message);
    case 'full':
      return new HttpError(507, error.message);
    case 'busy':
    case 'lost':
      return new HttpError(503, error.message, [['Retry-After', String(RETRY_AFTER_SECONDS)]]);
  }
}
