import { useQuery } from '@tanstack/react-query';

/** What this page may do besides reading, and the token that shows that it is the page which does it. */
export interface Session {
  scopes: readonly string[];
  token: string | null;
}

const READING: Session = { scopes: ['read'], token: null };

/** Where the service does not say, the page reads. */
export function useSession(): Session {
  const { data } = useQuery({ queryKey: ['session'], queryFn: ask, staleTime: Number.POSITIVE_INFINITY, retry: false });
  return data ?? READING;
}

async function ask({ signal }: { signal: AbortSignal }): Promise<Session> {
  const response = await fetch(new URL('api/v1/session', document.baseURI), { credentials: 'same-origin', signal });
  return response.ok ? ((await response.json()) as Session) : READING;
}
