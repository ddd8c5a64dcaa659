import type { Setting } from '../body/fills.ts';
import { parseHeaders } from '../call/request.ts';
import { usage } from '../errors.ts';
import { type FlagValues, isOn, listOf, textOf } from '../fields/flag.ts';
import type { Headers } from '../http/message.ts';
import type { Operation } from '../operations/operation.ts';
import type { Format } from '../output/formats.ts';
import type { Profile } from '../profiles/profile.ts';
import type { Chosen, Wanted } from '../profiles/resolve.ts';
import type { CertificateFiles } from '../profiles/way.ts';
import type { Runtime } from '../runtime.ts';
import { readDuration } from './duration.ts';

/** What the shared flags of an operation say. */
export interface Options {
  readonly wanted: Wanted;
  readonly files: CertificateFiles;
  readonly headers: Headers;
  readonly allowHttp: boolean;
  readonly exact: boolean;
  readonly strict: boolean;
  readonly noCheck: boolean;
  readonly show: 'dry-run' | 'curl' | undefined;
  readonly format: Format | undefined;
  readonly output: string | undefined;
}

/** Reads the shared flags. Throws usage where two of them contradict each other. */
export function readOptions({ host }: Operation, flags: FlagValues): Options {
  const on = (name: string): boolean => isOn(flags, name) === true;
  const noCheck = isOn(flags, 'check') === false;
  if (on('strict') && noCheck) throw usage('--strict and --no-check contradict each other', 'give one of them');
  if (on('dry-run') && on('curl')) throw usage('--dry-run and --curl are two ways to send nothing', 'give one of them');
  return {
    wanted: {
      profile: textOf(flags, 'profile'),
      local: on('local'),
      baseUrl: textOf(flags, 'base-url'),
      hostUrl: textOf(flags, `${host}-base-url`),
    },
    files: certificateFiles(flags),
    headers: parseHeaders(listOf(flags, 'header')),
    allowHttp: on('allow-http'),
    exact: on('exact'),
    strict: on('strict'),
    noCheck,
    show: on('dry-run') ? 'dry-run' : on('curl') ? 'curl' : undefined,
    format: readFormat(flags, on('json')),
    output: textOf(flags, 'output'),
  };
}

/** The files about trust that the flags name. */
export function certificateFiles(flags: FlagValues): CertificateFiles {
  return { cacert: textOf(flags, 'cacert'), cert: textOf(flags, 'cert'), key: textOf(flags, 'key') };
}

/** The time limit for the whole exchange in milliseconds: flag, environment, profile, else that of the operation. */
export function timeLimit(
  flags: FlagValues,
  env: Runtime['env'],
  profile: Profile,
  { limit }: Operation,
): number | undefined {
  const [source, text] = settingOf('timeout', flags, env, profile);
  if (text === undefined) return limit === undefined ? undefined : limit * 1000;
  return readDuration(source, text);
}

/** As many repeats as PRODUCT.md section 7 gives. */
export const USUAL_RETRIES = 3;

/** How often a failed request may be repeated: flag, environment, profile, else 3 times. Throws usage for what is no number up to 99. */
export function retryLimit(flags: FlagValues, env: Runtime['env'], profile: Profile): number {
  const [source, text] = settingOf('retries', flags, env, profile);
  if (text === undefined) return USUAL_RETRIES;
  if (!/^\d{1,2}$/.test(text))
    throw usage(`${source} cannot be ${JSON.stringify(text)}`, 'write a number from 0 to 99');
  return Number(text);
}

/** What the environment or the profile say where a body names no project or model. */
export function fillingOf(
  name: 'project_id' | 'model',
  { name: profile, profile: stored }: Chosen,
  env: Runtime['env'],
): Setting {
  const variable = `SVC_${name.toUpperCase()}`;
  return env[variable] ? { text: env[variable], from: variable } : { text: stored[name], from: `profile "${profile}"` };
}

/** What gives a setting, and its text, unchecked; no text where nothing gives one. */
export function settingOf(
  name: 'timeout' | 'retries',
  flags: FlagValues,
  env: Runtime['env'],
  profile: Profile,
): [source: string, text: string | undefined] {
  const variable = `SVC_${name.toUpperCase()}`;
  const sources = [
    [`--${name}`, textOf(flags, name)],
    [variable, env[variable]],
    [`the ${name} of the profile`, profile[name]],
  ] as const;
  const [source = '', text] = sources.find(([, value]) => value) ?? [];
  return [source, text];
}

function readFormat(flags: FlagValues, json: boolean): Format | undefined {
  const formats: readonly Format[] = ['json', 'jsonl', 'text', 'table'];
  const format = formats.find((one) => one === textOf(flags, 'format'));
  if (json && format !== undefined && format !== 'json')
    throw usage(`--json and --format ${format} contradict each other`, 'give one of them');
  return json ? 'json' : format;
}
