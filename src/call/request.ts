import { usage } from '../errors.ts';
import { type Headers, header } from '../http/message.ts';
import { version } from '../version.ts';

// What svc itself says about a request cannot be said differently by a flag.
const OWN = [
  'content-type',
  'authorization',
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'expect',
  'upgrade',
  'keep-alive',
];

/** The headers of `-H 'Name: value'`. Throws usage for one that is malformed or not for users to set. */
export function parseHeaders(words: readonly string[]): Headers {
  return words.map((word) => {
    const [, name = '', value = ''] = /^([^:]*):[ \t]*(.*?)[ \t]*$/s.exec(word) ?? [];
    // The value is not repeated: it may be a secret.
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      throw usage('--header needs a name and a value', "write -H 'Name: value'");
    if (OWN.includes(name.toLowerCase())) throw usage(`--header cannot set ${name}`, 'svc sets it');
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw usage(`--header ${name} has characters that a header cannot carry`);
    return [name, value] as const;
  });
}

/** All headers of a request but Authorization; those of the command line stand for those of the profile. */
export function requestHeaders(profile: Headers, given: Headers, streams: boolean): Headers {
  const own: Headers = [
    ['Content-Type', 'application/json'],
    ['Accept', streams ? 'text/event-stream, application/json' : 'application/json'],
    ['User-Agent', `svc/${version}`],
  ];
  const added = [...profile.filter(([name]) => header(given, name) === undefined), ...given];
  return [...own.filter(([name]) => header(added, name) === undefined), ...added];
}
