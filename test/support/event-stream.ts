/** The head of an HTTP response that streams events until it closes the connection. */
export const streamHead = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n';

/** An event with these data. */
export function event(data: string): string {
  return `data: ${data}\n\n`;
}

/** The event that ends the chunks of a chat. */
export const done = event('[DONE]');
