import { useQuery } from '@tanstack/react-query';

export interface Session {
  scopes: readonly string[];
  /** Sent with each change, because only the page knows it. */
  token: string | null;
  /** Name of the user, as the audit log has it. */
  name?: string;
}

const READING: Session = { scopes: ['read'], token: null };

/** The scopes of the page's session. Without an answer of the service, the page can only read. */
export function useSession(): Session {
  const { data } = useQuery({
    queryKey: ['session'],
    queryFn: loadSession,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return data ?? READING;
}

async function loadSession({ signal }: { signal: AbortSignal }): Promise<Session> {
  const response = await fetch(new URL('api/v1/session', document.baseURI), { credentials: 'same-origin', signal });
  return response.ok ? ((await response.json()) as Session) : READING;
}
