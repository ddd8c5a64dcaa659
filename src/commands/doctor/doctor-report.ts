import type { CertificateFiles } from '../../config/route.ts';
import type { ConnectionFlags, ServiceHost } from '../../config/select-profile.ts';
import type { DoctorFinding } from './doctor-finding.ts';

/** A setting as it counts, and what gives it. */
export interface DoctorSetting {
  readonly name: string;
  readonly value: string | null;
  readonly source: string;
}

/** A file or directory svc uses. */
export interface FileState {
  readonly what: string;
  readonly path: string;
  readonly exists: boolean;
  /** As in `chmod`: 0600. */
  readonly mode: string | null;
}

/** An attempt to connect to the origin of base URLs. */
export interface ConnectionResult {
  readonly address: string;
  readonly hosts: readonly ServiceHost[];
  readonly proxy: string | null;
  readonly reached: boolean;
  readonly milliseconds: number;
  /** The version of TLS, and when the certificate ends. */
  readonly tls: string | null;
  readonly certificate_expires: string | null;
  readonly error: string | null;
}

/** What the service answered when it was asked for the schema of feedback. */
export interface ProbeResult {
  readonly project_id: string;
  readonly status: number | null;
  readonly milliseconds: number;
}

/** All there is to tell. */
export interface DoctorReport {
  readonly settings: readonly DoctorSetting[];
  readonly files: readonly FileState[];
  readonly connections: readonly ConnectionResult[];
  readonly probe: ProbeResult | undefined;
  readonly findings: readonly DoctorFinding[];
}

/** What the command line asks about. */
export interface DoctorOptions {
  /** The base URL of one host in the form of the operations that go to it. */
  readonly connectionFlagsFor: (host: ServiceHost) => ConnectionFlags;
  readonly certificateFiles: CertificateFiles;
}
