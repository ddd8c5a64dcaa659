import { typedOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';

export interface Route {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** `none`: open to everybody who can connect; `page`: Basic credentials, or a token of the page. */
  readonly auth: Operation['auth'] | 'none' | 'page';
  readonly errors?: Operation['errors'];
  /** Recordings have its exchanges. */
  readonly isRecorded: boolean;
}

const models = { method: 'GET', auth: 'bearer', errors: 'error', isRecorded: true } as const;
const file = { method: 'GET', auth: 'none', isRecorded: false } as const;
const data = { method: 'GET', auth: 'page', isRecorded: false } as const;

/** The paths besides those of the operations; `{id}` is the rest of a path. */
const otherRoutes = {
  '/v1/models': models,
  '/v1/models/{id}': models,
  '/healthz': file,
  '/metrics': { method: 'GET', auth: 'basic', isRecorded: false },
  '/': file,
  '/page.js': file,
  '/page.css': file,
  '/report.css': file,
  '/page/login': { method: 'POST', auth: 'none', isRecorded: false },
  '/page/calls': data,
  '/page/feedback': data,
  '/page/jobs': data,
  '/page/chats': data,
  '/page/trace': data,
  '/page/lint': data,
  '/page/record': data,
  '/page/export': data,
} as const satisfies { readonly [path: string]: Omit<Route, 'name'> };

export type OtherPath = keyof typeof otherRoutes;

/** All paths of the local service, also in its metrics and in recordings. */
const routes = new Map<string, Omit<Route, 'name'>>([
  ...typedOperations.map(
    ({ path, auth, errors }) => [path, { method: 'POST', auth, errors, isRecorded: true }] as const,
  ),
  ...Object.entries(otherRoutes),
]);

/** The route of a path; undefined for a path that is not served. */
export function routeAt(path: string): Route | undefined {
  const family = [...routes.keys()].find((one) => {
    const start = one.replace('{id}', '');
    return start !== one && path.startsWith(start) && path !== start;
  });
  // With `..`, a path would lead elsewhere on an upstream server.
  const name = family && new URL(path, 'http://localhost').pathname === path ? family : path;
  const route = routes.get(name);
  return route && { ...route, name };
}
