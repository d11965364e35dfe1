import type { TypedDocumentString } from './generated/graphql';

/** What a GraphQL error of the service says beside its message. */
export interface ErrorDetail {
  /** Name of the error's class, as InvalidQueryError. */
  code?: string;
  /** What to do about it. */
  hint?: string;
  /** The argument that was wrong. */
  field?: string;
  /** Whether asking again may work. */
  transient?: boolean;
}

/** An answer that did not come, with the service's own hint where there is one. */
export class RequestError extends Error {
  override readonly name = 'RequestError';

  constructor(
    message: string,
    readonly detail: ErrorDetail = {},
  ) {
    super(message);
  }
}

interface GraphQLBody<Result> {
  data?: Result | null;
  errors?: { message: string; extensions?: ErrorDetail }[];
}

/** `/graphql` beside the page, wherever a proxy has put both. */
const ENDPOINT = 'graphql';

/**
 * Ask the service. The key travels in the cookie that came with the page; the header shows that the request is the page's own,
 * since no other origin may set it. What changes something needs the session's token, too.
 */
export async function request<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
  token?: string | null,
): Promise<Result> {
  const response = await fetch(new URL(ENDPOINT, globalThis.document.baseURI), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      'x-headwater-page': '1',
      ...(token ? { 'x-headwater-token': token } : {}),
    },
    credentials: 'same-origin',
    body: JSON.stringify({ query: document.toString(), variables }),
    ...(signal ? { signal } : {}),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    throw new RequestError('The service does not answer.', {
      hint: 'Start it with “headwater serve”, then try again.',
      transient: true,
    });
  });
  const body = await readBody<Result>(response);
  const [error] = body.errors ?? [];
  if (error) throw new RequestError(error.message, error.extensions);
  if (!body.data) throw new RequestError('The service answered without data.', { transient: true });
  return body.data;
}

async function readBody<Result>(response: Response): Promise<GraphQLBody<Result>> {
  if (response.status === 401 || response.status === 403) {
    throw new RequestError('This page may not ask the service.', {
      hint: 'Open the address that “headwater serve” prints: it gives the page its key.',
    });
  }
  try {
    return (await response.json()) as GraphQLBody<Result>;
  } catch {
    throw new RequestError(`The service answered ${response.status} ${response.statusText}.`, {
      hint: 'Its log says more.',
      transient: response.status >= 500,
    });
  }
}
