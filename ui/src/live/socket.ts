/** Subscriptions over a WebSocket, in the protocol graphql-transport-ws. */
import type { Document } from '../api/request';

/** A subscription, and the receiver of its answers. */
export interface Subscription {
  document: string;
  next: (data: unknown) => void;
}

export function subscriptionOf<Result, Variables>(
  document: Document<Result, Variables>,
  next: (data: Result) => void,
): Subscription {
  return { document: document.toString(), next: (data) => next(data as Result) };
}

interface Message {
  type: string;
  id?: string;
  payload?: { data?: unknown };
}

/**
 * Open a connection with some subscriptions. `onEnd` is called once when the connection ends for any reason but the returned function,
 * which closes it.
 */
export function openSocket(subscriptions: readonly Subscription[], onOpen: () => void, onEnd: () => void): () => void {
  const address = new URL('graphql', document.baseURI);
  address.protocol = address.protocol.replace('http', 'ws');
  const socket = new WebSocket(address, 'graphql-transport-ws');
  let isClosed = false;
  const end = () => {
    if (isClosed) return;
    isClosed = true;
    socket.close();
    onEnd();
  };
  const send = (message: object) => socket.send(JSON.stringify(message));
  socket.onopen = () => send({ type: 'connection_init' });
  socket.onclose = end;
  socket.onerror = end;
  socket.onmessage = ({ data }) => {
    const { type, id, payload } = JSON.parse(String(data)) as Message;
    if (type === 'connection_ack') {
      for (const [index, { document: query }] of subscriptions.entries())
        send({ type: 'subscribe', id: String(index), payload: { query } });
      onOpen();
    } else if (type === 'ping') send({ type: 'pong' });
    else if (type === 'next') subscriptions[Number(id)]?.next(payload?.data);
    // A subscription that ended with an error missed something, so the page asks everything again after the next connection.
    else if (type === 'error' || type === 'complete') end();
  };
  return () => {
    isClosed = true;
    socket.close();
  };
}
