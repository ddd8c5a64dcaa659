import { errorCode } from '../../../files/file-errors.ts';
import { StoreError } from '../store-error.ts';

const LOST_CONNECTION_CODES: readonly string[] = [
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
];

/** An error of PostgreSQL or of its connection as a StoreError; any other error unchanged. `label` names the database. */
export function toPostgresStoreError(error: unknown, label: string): unknown {
  const code = errorCode(error) ?? '';
  const reason = error instanceof Error ? error.message : String(error);
  // Class 08: connection exceptions; 57P: operator intervention, such as a shutdown; 25006: a read-only standby.
  if (LOST_CONNECTION_CODES.includes(code) || /^(08...|57P..|25006)$/.test(code))
    return new StoreError('lost', `could not reach the database at ${label}: ${reason}`);
  if (code === '53100') return new StoreError('full', `the disk of the database at ${label} is full`);
  // Class 53: insufficient resources, such as too many connections.
  if (/^(53...|40001|40P01|55P03)$/.test(code))
    return new StoreError('busy', `the database at ${label} is busy: ${reason}`);
  if (code === '22021')
    return new StoreError('unsupported', 'PostgreSQL cannot store U+0000 in ids, names and references');
  if (code === '54000')
    return new StoreError('unsupported', 'an id or reference is too long for an index of PostgreSQL');
  return error;
}
