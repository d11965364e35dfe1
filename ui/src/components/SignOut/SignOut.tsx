import { useMutation } from '@tanstack/react-query';
import { useSession } from '../../hooks/useSession';
import styles from './SignOut.module.css';

/** Ends the session at the service, and at the issuer if the person signed in there. */
export function SignOut() {
  const { token } = useSession();
  const end = useMutation({
    mutationFn: async () => {
      const response = await fetch(new URL('api/v1/session', document.baseURI), {
        method: 'DELETE',
        credentials: 'same-origin',
      });
      if (!response.ok) throw new Error(`The service answered ${response.status}.`);
      return (await response.json()) as { next: string | null };
    },
    onSuccess: ({ next }) => globalThis.location.assign(next ?? document.baseURI),
  });
  if (token === null) return null;
  return (
    <button type="button" className={styles.button} disabled={end.isPending} onClick={() => end.mutate()}>
      {end.isError ? 'Not signed out: try again' : 'Sign out'}
    </button>
  );
}
