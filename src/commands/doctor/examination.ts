import type { Host, Wanted } from '../../profiles/resolve.ts';
import type { CertificateFiles } from '../../profiles/way.ts';
import type { Finding } from './finding.ts';

/** A setting as it counts, and what gives it. */
export interface Setting {
  readonly name: string;
  readonly value: string | null;
  readonly source: string;
}

/** A file or folder svc uses. */
export interface FileState {
  readonly what: string;
  readonly path: string;
  readonly exists: boolean;
  /** As in `chmod`: 0600. */
  readonly mode: string | null;
}

/** An attempt to connect to the origin of base addresses. */
export interface Connection {
  readonly address: string;
  readonly hosts: readonly Host[];
  readonly proxy: string | null;
  readonly reached: boolean;
  readonly milliseconds: number;
  /** The version of TLS, and when the certificate ends. */
  readonly tls: string | null;
  readonly certificate_expires: string | null;
  readonly error: string | null;
}

/** What the service answered when it was asked for the schema of feedback. */
export interface Probe {
  readonly project_id: string;
  readonly status: number | null;
  readonly milliseconds: number;
}

/** All there is to tell. */
export interface Examination {
  readonly settings: readonly Setting[];
  readonly files: readonly FileState[];
  readonly connections: readonly Connection[];
  readonly probe: Probe | undefined;
  readonly findings: readonly Finding[];
}

/** What the command line asks about. */
export interface Question {
  /** The base address of one host in the form of the operations that go to it. */
  readonly wantedFor: (host: Host) => Wanted;
  readonly files: CertificateFiles;
}
