import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';

/** A question of the page, with the types of its answer and of its variables. */
export type Document<Result, Variables> = DocumentTypeDecoration<Result, Variables> & { toString: () => string };

/** Details of a GraphQL error of the service. */
export interface ErrorDetail {
  /** Name of the class of the error, for example InvalidQueryError. */
  code?: string;
  /** A way to correct the error. */
  hint?: string;
  /** The invalid argument. */
  field?: string;
  /** Whether a second attempt can succeed. */
  transient?: boolean;
}

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

/** Relative to the page, because a proxy can serve both below any path. */
const ENDPOINT = 'graphql';

/**
 * Ask the service. The browser sends the key in a cookie. Other origins cannot set the header, so it proves that the request is from
 * the page. Changes also need the token of the session.
 */
export async function request<Result, Variables>(
  document: Document<Result, Variables>,
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
      hint: 'Open the address that “headwater serve” prints. It contains the key of the page.',
    });
  }
  try {
    return (await response.json()) as GraphQLBody<Result>;
  } catch {
    throw new RequestError(`The service answered ${response.status} ${response.statusText}.`, {
      hint: 'See its log.',
      transient: response.status >= 500,
    });
  }
}

/**
 * Ask the service for a file.
 *
 * @throws RequestError with the reason of the service.
 */
export async function requestFile(path: string): Promise<Blob> {
  const response = await fetch(new URL(path, globalThis.document.baseURI), {
    headers: { 'x-headwater-page': '1' },
    credentials: 'same-origin',
  }).catch(() => {
    throw new RequestError('The service does not answer.', { transient: true });
  });
  if (response.ok) return response.blob();
  const { message, hint } = (await response.json().catch(() => ({}))) as { message?: string; hint?: string };
  throw new RequestError(message ?? `The service answered ${response.status} ${response.statusText}.`, {
    ...(hint && { hint }),
  });
}
