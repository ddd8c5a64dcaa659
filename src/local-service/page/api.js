const TOKEN = 'svc-token';

/** Exchanges the code of a login link for a token that reads until the service ends. */
export async function login() {
  const [, code] = /^#code=([\w-]+)$/.exec(location.hash) ?? [];
  if (!code) return;
  history.replaceState(null, '', '#calls');
  const response = await fetch('/page/login', { method: 'POST', body: code });
  if (!response.ok) throw new Error('The link was used, or is older than 60 s: restart svc serve --open for another.');
  localStorage.setItem(TOKEN, (await response.json()).token);
}

/** The data of a route; throws an Error whose message can be shown. */
export async function read(name, parameters = {}, kind = 'json', signal = null) {
  const token = localStorage.getItem(TOKEN);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch(`/page/${name}?${new URLSearchParams(parameters)}`, { headers, signal }).catch(() => {
    throw new Error('The service does not respond.');
  });
  if (response.ok) return response[kind]();
  if (response.status === 401 && token) {
    // The service that the token was for has ended. Without one, the browser asks for the user name and password.
    localStorage.removeItem(TOKEN);
    return read(name, parameters, kind, signal);
  }
  if (response.status === 400) throw new Error((await response.json()).detail);
  const hint =
    ': reload the page and enter the user name and password of svc serve, or open the link of svc serve --open';
  throw new Error(`The service responded ${response.status}${response.status === 401 ? hint : ''}.`);
}

/** Saves all records of a table that match, as JSON Lines. */
export async function download(parameters) {
  const href = URL.createObjectURL(await read('export', parameters, 'blob'));
  Object.assign(document.createElement('a'), { href, download: `svc-${parameters.table}.jsonl` }).click();
  window.setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
