// The files of undici that svc is built from; its main entry would load all of fetch, mocks and caches besides.
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici';

  export = Client;
}

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici';

  const request: (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

  export = request;
}
