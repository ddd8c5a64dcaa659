// The files of undici that svc is built from; its main entry would load all of fetch, mocks and caches besides.
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici';

  export = Client;
}
