import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  CreateKeyDocument,
  type CreateKeyMutationVariables,
  KeysDocument,
  RevokeKeyDocument,
  RightsDocument,
  RotateKeyDocument,
} from '../api/generated/graphql';
import { request } from '../api/request';
import { useSession } from './useSession';

/** Named keys, latest first; `all` also those that open nothing any more. */
export function useKeys(all: boolean) {
  const { token } = useSession();
  return useQuery({
    queryKey: ['keys', all],
    queryFn: ({ signal }) => request(KeysDocument, { all }, signal, token),
    select: (answer) => answer.admin.keys,
  });
}

/** Roles, tenants, and what is granted to people. */
export function useRights() {
  const { token } = useSession();
  return useQuery({
    queryKey: ['rights'],
    queryFn: ({ signal }) => request(RightsDocument, {}, signal, token),
    select: (answer) => answer.admin,
  });
}

/** What changes keys. The text of a new key is in the answer alone, and is not kept in any cache. */
export function useKeyChanges() {
  const { token } = useSession();
  const client = useQueryClient();
  const onSuccess = async () => {
    await Promise.all([
      client.invalidateQueries({ queryKey: ['keys'] }),
      client.invalidateQueries({ queryKey: ['rights'] }),
    ]);
  };
  const make = useMutation({
    mutationFn: (wanted: CreateKeyMutationVariables) => request(CreateKeyDocument, wanted, undefined, token),
    onSuccess,
    gcTime: 0,
  });
  const rotate = useMutation({
    mutationFn: (id: string) => request(RotateKeyDocument, { id }, undefined, token),
    onSuccess,
    gcTime: 0,
  });
  const revoke = useMutation({
    mutationFn: (id: string) => request(RevokeKeyDocument, { id }, undefined, token),
    onSuccess,
  });
  return { make, rotate, revoke };
}
