const TOKEN = 'svc-token';

/** Exchanges the code of a login link for a token that reads until the service ends. */
export async function login() {
  const [, code] = /^#code=([\w-]+)$/.exec(location.hash) ?? [];
  if (!code) return undefined;
  history.replaceState(null, '', '#calls');
  const response = await fetch('/page/login', { method: 'POST', body: code }).catch(() => undefined);
  if (response?.ok) localStorage.setItem(TOKEN, (await response.json()).token);
  return response?.ok ? undefined : 'The link was used, or is older than 60 s: restart svc serve --open for another.';
}

async function request(path) {
  const token = localStorage.getItem(TOKEN);
  if (!token) return fetch(path);
  const response = await fetch(path, { headers: { Authorization: `Bearer ${token}` } });
  if (response.status !== 401) return response;
  // The service that the token was for has ended. Without one, the browser asks for the user name and password.
  localStorage.removeItem(TOKEN);
  return fetch(path);
}

/** The data of a route; throws an Error whose message can be shown. */
export async function read(name, parameters = {}) {
  const response = await request(`/page/${name}?${new URLSearchParams(parameters)}`).catch(() => {
    throw new Error('The service does not respond.');
  });
  if (response.ok) return response.json();
  const hint =
    response.status === 401
      ? ': reload the page and enter the user name and password of svc serve, or open the link of svc serve --open'
      : '';
  throw new Error(`The service responded ${response.status}${hint}.`);
}

/** Saves all records of a table that match, as JSON Lines. */
export async function download(parameters) {
  const response = await request(`/page/export?${new URLSearchParams(parameters)}`);
  if (!response.ok) throw new Error(`The service responded ${response.status}.`);
  const href = URL.createObjectURL(await response.blob());
  Object.assign(document.createElement('a'), { href, download: `svc-${parameters.table}.jsonl` }).click();
  window.setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
